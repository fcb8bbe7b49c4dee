import { spawn } from "node:child_process"
import { watch } from "node:fs"

const POSTROOM = "{postroom}"
const NAME = [{name}]

// What postroom has to say at a moment of a session. A postroom that is missing or fails says nothing.
function hook(event, session_id, cwd) {
  return new Promise((resolve) => {
    let out = ""
    let child
    try {
      child = spawn(POSTROOM, ["hook", "{program}", event, ...NAME], { cwd, stdio: ["pipe", "pipe", "ignore"] })
    } catch {
      return resolve(null)
    }
    const timer = setTimeout(() => child.kill(), 10000)
    child.on("error", () => resolve(null))
    child.stdin.on("error", () => {})
    child.stdout.on("data", (data) => (out += data))
    child.on("close", () => {
      clearTimeout(timer)
      try {
        resolve(JSON.parse(out))
      } catch {
        resolve(null)
      }
    })
    child.stdin.end(JSON.stringify({ session_id, cwd }))
  })
}
