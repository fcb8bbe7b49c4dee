# The mailbox functions of the maildir protocol, on postroom.
# AGENT_MAILBOX_DIR or MB_TEST_ROOT moves the root; AGENT_MAILBOX_ID says who you are; AGENT_HARNESS is recorded with a name.
# MB_NO_FLOCK is accepted: the lock is the kernel's and always there.
# MB_NO_FSWATCH polls every MB_POLL_INTERVAL seconds (5) instead of watching.

mb_root() { printf '%s' "${AGENT_MAILBOX_DIR:-${MB_TEST_ROOT:-/tmp/agent-mailbox}}"; }

mb_dir() { printf '%s/%s' "$(mb_root)" "$1"; }

_mb() { command postroom --root "$(mb_root)" mb "$@"; }

# A missing root and an empty inbox look alike; say so once.
_mb_known_root() {
  [ -d "$(mb_root)" ] && return 0
  if [ -z "${_MB_TOLD_ROOT:-}" ]; then
    _MB_TOLD_ROOT=1
    printf 'mailbox: the root %s does not exist, so this says nothing about mail\n' "$(mb_root)" >&2
  fi
  return 1
}

mb_resolve_self() {
  if [ -n "${AGENT_MAILBOX_ID:-}" ]; then _mb self -- "$AGENT_MAILBOX_ID"; else _mb mint; fi
}

mb_ensure_inbox() { _mb ensure -- "${1:-$(mb_resolve_self)}"; }

mb_send() { _mb send -- "$(mb_resolve_self)" "$1" "$2" "${3:-}" "${4:-}"; }

mb_list() { _mb_known_root || return 0; _mb list -- "${1:-$(mb_resolve_self)}"; }

mb_archive() { _mb archive -- "$1" "${2:-$(mb_resolve_self)}"; }

mb_wait() {
  if [ -n "${MB_NO_FSWATCH:-}" ]; then
    _mb wait --poll "${MB_POLL_INTERVAL:-5}" -- "${1:-540}" "${2:-$(mb_resolve_self)}"
  else
    _mb wait -- "${1:-540}" "${2:-$(mb_resolve_self)}"
  fi
}

mb_register() { AGENT_HARNESS="${AGENT_HARNESS:-unknown}" _mb register -- "${2:-$(mb_resolve_self)}" "${1:-}"; }

mb_lookup() { [ -d "$(mb_root)" ] || return 1; _mb lookup -- "$1"; }

mb_names() { [ -d "$(mb_root)" ] || return 0; _mb names; }

mb_whois() { [ -d "$(mb_root)" ] || return 1; _mb whois -- "$1"; }
