// Does with redsync what it reads, one JSON object a line, and answers by id.
//
// Arguments: the addresses of the servers that vote (host:port), often only one.  A mutex is remembered by its handle, and
// every command runs in a goroutine of its own, so that some may wait while others go on.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/go-redsync/redsync/v4"
	pool "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

type command struct {
	ID       int64  `json:"id"`
	Verb     string `json:"verb"`
	Handle   string `json:"handle"`
	Name     string `json:"name"`
	ExpiryMs int64  `json:"expiry_ms"`
	DelayMs  int64  `json:"delay_ms"`
	Tries    int    `json:"tries"`
}

type reply struct {
	ID      int64  `json:"id"`
	Answer  any    `json:"answer"`
	Error   string `json:"error,omitempty"`
	Message string `json:"message,omitempty"`
}

type peer struct {
	locks   *redsync.Redsync
	mutexes sync.Map
	mouth   sync.Mutex
}

func main() {
	var pools []pool.Pool
	for _, address := range os.Args[1:] {
		pools = append(pools, goredis.NewPool(redis.NewClient(&redis.Options{Addr: address})))
	}
	p := &peer{locks: redsync.New(pools...)}
	p.say(map[string]int{"ready": os.Getpid()})
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var c command
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			panic(err)
		}
		go p.answer(c)
	}
}

func (p *peer) answer(c command) {
	r := reply{ID: c.ID}
	answer, err := p.perform(c)
	if err != nil {
		r.Error, r.Message = fmt.Sprintf("%T", err), err.Error()
	} else {
		r.Answer = answer
	}
	p.say(r)
}

// One whole line at a time, whoever speaks.
func (p *peer) say(r any) {
	p.mouth.Lock()
	defer p.mouth.Unlock()
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		panic(err)
	}
}

func (p *peer) perform(c command) (any, error) {
	ctx := context.Background()
	switch c.Verb {
	case "lock":
		return p.lock(ctx, c)
	case "unlock":
		return p.mutex(c).UnlockContext(ctx)
	case "extend":
		return p.mutex(c).ExtendContext(ctx)
	}
	return nil, fmt.Errorf("no such verb: %s", c.Verb)
}

func (p *peer) lock(ctx context.Context, c command) (any, error) {
	mutex := p.locks.NewMutex(
		c.Name,
		redsync.WithExpiry(time.Duration(c.ExpiryMs)*time.Millisecond),
		redsync.WithTries(c.Tries),
		redsync.WithRetryDelay(time.Duration(c.DelayMs)*time.Millisecond),
	)
	if err := mutex.LockContext(ctx); err != nil {
		return nil, err
	}
	p.mutexes.Store(c.Handle, mutex)
	return mutex.Value(), nil
}

func (p *peer) mutex(c command) *redsync.Mutex {
	mutex, _ := p.mutexes.Load(c.Handle)
	return mutex.(*redsync.Mutex)
}
