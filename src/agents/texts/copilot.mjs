// Written by `postroom install copilot`: wakes an idle session when mail comes. Copilot CLI loads it only with
// --experimental, or with COPILOT_CLI_ENABLED_FEATURE_FLAGS=EXTENSIONS.
// It only carries texts of `postroom hook copilot mail`; what is said when is decided there.
import { joinSession } from "@github/copilot-sdk/extension"

const session = await joinSession()
const watched = new Set()
let idle = true
let asking = false
let again = false

// Watches these directories. Returns whether one is new: it may have got mail before.
function observe(paths) {
  let isNew = false
  for (const path of paths) {
    if (watched.has(path)) continue
    try {
      watch(path, { persistent: false }, look)
      watched.add(path)
      isNew = true
    } catch {}
  }
  return isNew
}

async function look() {
  // A working session hears of its mail through its hooks.
  if (!idle) return
  // What comes while postroom is asked may be too late for that answer.
  again = asking
  if (asking) return
  asking = true
  let said = await hook("mail", session.sessionId, process.cwd())
  while ((observe(said?.watch ?? []) || again) && !said?.text) {
    again = false
    said = await hook("mail", session.sessionId, process.cwd())
  }
  asking = false
  if (said?.text && idle) await session.send({ prompt: said.text }).catch(() => {})
}

session.on("user.message", () => (idle = false))
session.on("assistant.turn_start", () => (idle = false))
session.on("session.idle", () => {
  idle = true
  // A session may have set up its mailbox since it began.
  look()
})
look()
