// Takes and frees mutexes as it is told, with redsync at its defaults.
//
// Arguments: the addresses of servers (host:port), often only one; several vote.  A cluster is
// cluster:host:port,host:port.  Lines are words: the verb (pairs, take, wait, free), the kind, the
// name, and for pairs how many, for free how many microseconds to wait before.  Each is answered by
// one number, an instant in nanoseconds.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-redsync/redsync/v4"
	pool "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

var mutexes = map[string]*redsync.Mutex{}

func main() {
	var pools []pool.Pool
	for _, address := range os.Args[1:] {
		pools = append(pools, goredis.NewPool(connect(address)))
	}
	locks := redsync.New(pools...)
	fmt.Println("ready")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		fmt.Println(perform(locks, strings.Fields(lines.Text())))
	}
}

func connect(address string) redis.UniversalClient {
	if nodes, found := strings.CutPrefix(address, "cluster:"); found {
		return redis.NewClusterClient(&redis.ClusterOptions{Addrs: strings.Split(nodes, ",")})
	}
	return redis.NewClient(&redis.Options{Addr: address})
}

func perform(locks *redsync.Redsync, words []string) int64 {
	mutex, known := mutexes[words[2]]
	if !known {
		mutex = locks.NewMutex(words[2], redsync.WithExpiry(30*time.Second))
		mutexes[words[2]] = mutex
	}
	switch words[0] {
	case "pairs":
		for range number(words[3]) {
			take(mutex)
			free(mutex)
		}
		return time.Now().UnixNano()
	case "take":
		return take(mutex)
	case "wait":
		held := take(mutex)
		free(mutex)
		return held
	case "free":
		time.Sleep(time.Duration(number(words[3])) * time.Microsecond)
		return free(mutex)
	}
	panic(words[0])
}

// The instant at which it is held.
func take(mutex *redsync.Mutex) int64 {
	if err := mutex.Lock(); err != nil {
		panic(err)
	}
	return time.Now().UnixNano()
}

// The instant just before it is given back.
func free(mutex *redsync.Mutex) int64 {
	before := time.Now().UnixNano()
	if _, err := mutex.Unlock(); err != nil {
		panic(err)
	}
	return before
}

func number(word string) int {
	found, err := strconv.Atoi(word)
	if err != nil {
		panic(err)
	}
	return found
}
