// Splits streams into requests with Node's parser (llhttp). Standard input: one stream a line, in base64. Standard
// output: for each of them a line of JSON: {"requests": [[method, target, content in base64], …], "isRefused": …}; only
// complete requests count.
"use strict";
const http = require("node:http");
const { Duplex } = require("node:stream");
const readline = require("node:readline");

const options = { requireHostHeader: false, maxHeaderSize: 1 << 20, keepAliveTimeout: 0, insecureHTTPParser: false };

function split(bytes) {
  return new Promise((resolve) => {
    const requests = [];
    let isRefused = false;
    const server = http.createServer(options);
    server.maxHeadersCount = 0;
    server.maxRequestsPerSocket = 0;
    const take = (request, response) => {
      const entry = [request.method, request.url, null];
      requests.push(entry);
      const parts = [];
      request.on("data", (part) => parts.push(part));
      request.on("end", () => {
        if (request.complete) entry[2] = Buffer.concat(parts).toString("base64");
      });
      request.on("error", () => {});
      response?.end();
    };
    server.on("request", take);
    server.on("checkContinue", take);
    // A request read by llhttp counts, regardless of the server's response to the expectation.
    server.on("checkExpectation", take);
    // After these another protocol is spoken: the head was read, and no further request is looked for.
    server.on("connect", (request) => { requests.push([request.method, request.url, ""]); });
    server.on("clientError", () => { isRefused = true; });
    let left = bytes;
    const socket = new Duplex({
      read() {
        if (left) this.push(left);
        this.push(null);
        left = null;
      },
      write(_, __, done) { done(); },
    });
    socket.setTimeout = () => socket;
    socket.setNoDelay = socket.setKeepAlive = () => socket;
    socket.on("error", () => {});
    server.emit("connection", socket);
    // The whole stream has been parsed after a few turns of the loop. Anything still missing never arrives.
    let turns = 0;
    const finish = () => {
      turns += 1;
      if (turns < 12) return setImmediate(finish);
      socket.destroy();
      resolve({ requests: requests.filter((entry) => entry[2] !== null), isRefused });
    };
    setImmediate(finish);
  });
}

(async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    process.stdout.write(JSON.stringify(await split(Buffer.from(line, "base64"))) + "\n");
  }
})();
