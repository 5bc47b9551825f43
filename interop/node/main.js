// Does with node-redlock what it reads, one JSON object a line, and answers by id.
//
// Arguments: the addresses of the servers that vote (host:port), often only one.  A lock is remembered by its handle, and
// commands do not wait for each other.
import { createInterface } from "node:readline";
import { Redis } from "ioredis";
import Redlock from "redlock";

// What goes wrong in passing is told by the answer of the command that it concerns.
function connect(address) {
  const [host, port] = address.split(":");
  return new Redis({ host, port: Number(port) }).on("error", () => {});
}

const redlock = new Redlock(process.argv.slice(2).map(connect), { retryCount: 0 });
redlock.on("error", () => {});
const locks = new Map();

const verbs = {
  async lock({ handle, name, expiry_ms, tries, delay_ms }) {
    const patience = { retryCount: tries - 1, retryDelay: delay_ms, retryJitter: 0 };
    const lock = await redlock.acquire([name], expiry_ms, patience);
    locks.set(handle, lock);
    return lock.value;
  },
  async unlock({ handle }) {
    await locks.get(handle).release();
    return true;
  },
  async extend({ handle, expiry_ms }) {
    locks.set(handle, await locks.get(handle).extend(expiry_ms));
    return true;
  },
};

function say(reply) {
  process.stdout.write(`${JSON.stringify(reply)}\n`);
}

async function answer(command) {
  try {
    say({ id: command.id, answer: await verbs[command.verb](command) });
  } catch (error) {
    say({ id: command.id, error: error.constructor.name, message: error.message });
  }
}

say({ ready: process.pid });
createInterface({ input: process.stdin })
  .on("line", (line) => answer(JSON.parse(line)))
  .on("close", () => process.exit(0));
