#!/usr/bin/env node
// Starts the native binary of Postroom, which is in a package of its own for each platform, and ends as it does.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const name = `postroom-${process.platform}-${process.arch}`;
let binary;
try {
  binary = require.resolve(`${name}/bin/postroom`);
} catch {
  console.error(
    `postroom: ${name} is not installed. Either there is no binary for this platform, or npm was told to leave out ` +
      "optional dependencies. postroom can be built from its source with cargo.",
  );
  process.exit(1);
}

const child = spawn(binary, process.argv.slice(2), { stdio: "inherit" });
// A terminal sends its signals to both; what is sent to this process alone is passed on. Either way the binary decides.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`postroom: cannot start ${binary}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  process.exit(signal === null ? code : 128 + constants.signals[signal]);
});
