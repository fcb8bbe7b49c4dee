// Written by `postroom install opencode`: tells sessions of their mail and wakes the idle ones.
// It only carries texts of `postroom hook opencode EVENT`; what is told when is decided there.
import { randomUUID } from "node:crypto"
import { existsSync, readFileSync } from "node:fs"

// What this plugin adds to the settings in a start by `postroom opencode`. An installation has written it there.
const START = "{start}"

// Rules for a permission: one that a person gave for everything stays, and what we need is added.
const rules = (given, more) => ({ ...(typeof given === "string" ? { "*": given } : given), ...more })

function bring(config) {
  config.mcp = { postroom: { type: "local", command: [POSTROOM, "mcp"], enabled: true }, ...config.mcp }
  const dirs = [...START.roots]
  if (existsSync(START.skills)) {
    config.skills = { ...config.skills, paths: [...(config.skills?.paths ?? []), START.skills] }
    dirs.push(START.skills)
  }
  const permission = rules(config.permission)
  const everything = typeof permission["*"] === "string" ? permission["*"] : undefined
  permission.bash = rules(permission.bash ?? everything, { "postroom *": "allow" })
  const outside = Object.fromEntries(dirs.map((dir) => [`${dir}/*`, "allow"]))
  permission.external_directory = rules(permission.external_directory ?? everything, outside)
  config.permission = permission
}

// The words behind `opencode`. A terminal has this plugin in a worker, which is not told them.
function typed() {
  try {
    return readFileSync("/proc/self/cmdline", "utf8").split("\0").slice(1)
  } catch {
    return process.argv.slice(2)
  }
}

export const Postroom = async ({ client, directory }) => {
  const sessions = new Map()
  // Known to this plugin and to our server alone, so that a session cannot pass for another.
  const key = randomUUID()

  async function begin(id) {
    if (sessions.has(id)) return
    const session = { idle: false, first: null, watchers: new Map() }
    sessions.set(id, session)
    const said = await hook("session-start", id, directory)
    session.first = said?.text ?? null
    observe(id, session, said?.watch)
  }

  // Watches these directories and no others. Returns whether one is new: it may have got mail before.
  function observe(id, session, paths) {
    if (!paths || sessions.get(id) !== session) return false
    for (const [path, watcher] of session.watchers) {
      if (paths.includes(path)) continue
      watcher.close()
      session.watchers.delete(path)
    }
    let isNew = false
    for (const path of paths) {
      if (session.watchers.has(path)) continue
      try {
        session.watchers.set(path, watch(path, { persistent: false }, () => wake(id, session, "mail")))
        isNew = true
      } catch {}
    }
    return isNew
  }

  async function wake(id, session, event) {
    if (!session.idle) return
    // What comes while postroom is asked may be too late for that answer.
    session.again = session.asking
    if (session.asking) return
    session.asking = true
    let said = await hook(event, id, directory)
    while ((observe(id, session, said?.watch) || session.again) && !said?.text) {
      session.again = false
      said = await hook("mail", id, directory)
    }
    session.asking = false
    if (!said?.text || !session.idle) return
    await client.session.promptAsync({ path: { id }, body: { parts: [{ type: "text", text: said.text }] } }).catch(() => {})
  }

  async function rest(id, event) {
    await begin(id)
    const session = sessions.get(id)
    session.idle = true
    // The answer also says what to watch: the session may have got another mailbox.
    await wake(id, session, event)
  }

  // The session that a terminal goes on with; nothing happens in it before its first prompt.
  async function resumed(words) {
    const after = (names) => words.findIndex((word) => names.includes(word))
    const given = words.find((word) => word.startsWith("--session="))?.slice("--session=".length)
    if (given) return given
    const named = after(["--session", "-s"])
    if (named >= 0) return words[named + 1]
    if (after(["--continue", "-c"]) < 0) return null
    const list = (await client.session.list().catch(() => null))?.data ?? []
    const own = list.filter((session) => !session.parentID).sort((a, b) => b.time.updated - a.time.updated)
    return own[0]?.id ?? null
  }

  // `opencode run` has a prompt already. The server answers once its plugins are there.
  const words = typed()
  if (words[0] !== "run") {
    setTimeout(async () => {
      const id = await resumed(words)
      if (id && !sessions.has(id)) await rest(id, "mail")
    }, 0)
  }

  return {
    config: async (config) => {
      if (START) bring(config)
      const server = config.mcp?.postroom
      if (server?.type === "local") server.environment = { ...server.environment, POSTROOM_OPENCODE_KEY: key }
    },
    event: async ({ event }) => {
      const id = event.properties?.sessionID ?? event.properties?.info?.id
      if (!id) return
      if (event.type === "session.idle") await rest(id, "stop")
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
    "tool.execute.before": async (input, output) => {
      if (input.tool.startsWith("postroom_") && output.args) output.args.postroom_session = `${key} ${input.sessionID}`
    },
    "tool.execute.after": async (input, output) => {
      const said = await hook("tool-end", input.sessionID, directory)
      if (said?.text) output.output = `${output.output ?? ""}\n\n${said.text}`
    },
    // The model need not see what this plugin adds.
    "experimental.chat.messages.transform": async (_, output) => {
      for (const { parts } of output.messages) for (const part of parts) delete part.state?.input?.postroom_session
    },
    "shell.env": async (input, output) => {
      if (input.sessionID) output.env.POSTROOM_OPENCODE_SESSION = input.sessionID
    },
  }
}
