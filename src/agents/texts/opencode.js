// Written by `postroom install opencode`: tells sessions of their mail and wakes the idle ones.
// It only carries texts of `postroom hook opencode EVENT`; what is told when is decided there.
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
      child = spawn(POSTROOM, ["hook", "opencode", event, ...NAME], { cwd, stdio: ["pipe", "pipe", "ignore"] })
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
    child.stdin.end(JSON.stringify({ session_id }))
  })
}

export const Postroom = async ({ client, directory }) => {
  const sessions = new Map()

  async function begin(id) {
    if (sessions.has(id)) return
    const session = { idle: false, first: null, watchers: [] }
    sessions.set(id, session)
    const said = await hook("session-start", id, directory)
    session.first = said?.text ?? null
    observe(id, session, said?.watch)
  }

  function observe(id, session, paths) {
    if (session.watchers.length || !paths?.length) return
    for (const path of paths) {
      try {
        session.watchers.push(watch(path, { persistent: false }, () => wake(id, session, "mail")))
      } catch {}
    }
  }

  async function wake(id, session, event) {
    if (!session.idle) return
    // What comes while postroom is asked may be too late for that answer.
    session.again = session.asking
    if (session.asking) return
    session.asking = true
    let said = await hook(event, id, directory)
    while (!said?.text && session.again) {
      session.again = false
      said = await hook("mail", id, directory)
    }
    session.asking = false
    if (!said?.text || !session.idle) return
    await client.session.promptAsync({ path: { id }, body: { parts: [{ type: "text", text: said.text }] } }).catch(() => {})
  }

  return {
    event: async ({ event }) => {
      const id = event.properties?.sessionID ?? event.properties?.info?.id
      if (!id) return
      if (event.type === "session.idle") {
        await begin(id)
        const session = sessions.get(id)
        session.idle = true
        // A session may have set up its mailbox since it began.
        if (!session.watchers.length) observe(id, session, (await hook("session-start", id, directory))?.watch)
        await wake(id, session, "stop")
      }
      if (event.type === "session.deleted") {
        sessions.get(id)?.watchers.forEach((watcher) => watcher.close())
        sessions.delete(id)
        await hook("session-end", id, directory)
      }
    },
    "chat.message": async (input, output) => {
      await begin(input.sessionID)
      const session = sessions.get(input.sessionID)
      session.idle = false
      const texts = [session.first, (await hook("prompt", input.sessionID, directory))?.text].filter(Boolean)
      session.first = null
      if (!texts.length) return
      output.parts.push({
        id: "prt_postroom" + Math.random().toString(36).slice(2),
        sessionID: input.sessionID,
        messageID: output.message.id,
        type: "text",
        text: texts.join("\n"),
        synthetic: true,
      })
    },
    "tool.execute.after": async (input, output) => {
      const said = await hook("tool-end", input.sessionID, directory)
      if (said?.text) output.output = `${output.output ?? ""}\n\n${said.text}`
    },
    "shell.env": async (input, output) => {
      if (input.sessionID) output.env.POSTROOM_OPENCODE_SESSION = input.sessionID
    },
  }
}
