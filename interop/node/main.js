// Does with node-redlock what it reads, one JSON object a line, and answers by id.
//
// Argument: the address of a server (host:port).  A lock is remembered by its handle, and
// commands do not wait for each other.
import { createInterface } from "node:readline";
import { Redis } from "ioredis";
import Redlock from "redlock";

const [host, port] = process.argv[2].split(":");
const redlock = new Redlock([new Redis({ host, port: Number(port) })], { retryCount: 0 });
// What goes wrong in passing is told by the answer of the command that it concerns.
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
