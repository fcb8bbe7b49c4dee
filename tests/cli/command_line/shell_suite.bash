# Checks of the seed's shell interface (protocols.md §1.6), numbered. Run by tests/cli/shell.rs with the functions of
# `postroom tools shell-init bash` loaded. Every group of checks begins with a root of its own.

count=0

is() { # ACTUAL EXPECTED WHAT
  count=$((count + 1))
  if [ "$1" = "$2" ]; then echo "ok $count $3"; else echo "FAILED $count $3: [$1], expected [$2]"; fi
}

like() { # ACTUAL REGEX WHAT
  count=$((count + 1))
  if [[ $1 =~ $2 ]]; then echo "ok $count $3"; else echo "FAILED $count $3: [$1] does not match $2"; fi
}

status() { "$@" > /dev/null 2>&1; echo $?; }
files() { find "$1" -maxdepth 1 -type f 2> /dev/null | wc -l | tr -d ' '; }
mode() { stat -c %a "$1"; }
field() { sed -n "2,/^---\$/s/^$1: //p" "$2"; }

root() { # KIND: a new root, none of whose directories is a mailbox
  export MB_TEST_ROOT; MB_TEST_ROOT=$(mktemp -d "$PWD/suite.XXXXXX")/room
  unset AGENT_MAILBOX_ID AGENT_HARNESS MB_NO_FLOCK MB_NO_FSWATCH MB_POLL_INTERVAL _MB_TOLD_ROOT
  case $1 in
    missing) ;;
    made) mkdir -p "$MB_TEST_ROOT" ;;
    stray) mkdir -p "$MB_TEST_ROOT"; echo log > "$MB_TEST_ROOT/test.log"; chmod 644 "$MB_TEST_ROOT/test.log" ;;
    handoff) mkdir -p "$MB_TEST_ROOT"; echo '# Findings' > "$MB_TEST_ROOT/handoff.md"; chmod 664 "$MB_TEST_ROOT/handoff.md" ;;
  esac
}

# The root.
root missing
is "$(mb_root)" "$MB_TEST_ROOT" "the root can be moved"
is "$(unset MB_TEST_ROOT; mb_root)" /tmp/agent-mailbox "the default root"
is "$(mb_dir bob)" "$MB_TEST_ROOT/bob" "the directory of an id"

# Who I am.
is "$(AGENT_MAILBOX_ID=agent-7 mb_resolve_self)" agent-7 "the environment names the id"
export AGENT_MAILBOX_ID=zed
is "$(mb_resolve_self) $(mb_resolve_self)" "zed zed" "the id stays the same"
unset AGENT_MAILBOX_ID
like "$(mb_resolve_self)" '^[0-9a-f-]{36}$' "an id is minted when there is none"
is "$([ "$(mb_resolve_self)" = "$(mb_resolve_self)" ]; echo $?)" 1 "a minted id is new each time"
is "$([ -e "$MB_TEST_ROOT" ]; echo $?)" 1 "none of this makes the root"

# Looking before anything exists.
like "$(mb_list bob 2>&1 > /dev/null)" 'does not exist' "a list says that the root is missing"
mb_list bob 2> first > out; mb_list bob 2> second >> out
is "$(wc -l < first | tr -d ' ') $(cat second out)" "1 " "it says so once in a shell"
is "$(status mb_list bob)" 0 "a list of a missing root is empty"

for kind in missing made stray handoff; do
  root $kind
  [ $kind = missing ] || {
    is "$(mb_list bob 2>&1)$(mb_names 2>&1)$(mb_lookup bob 2>&1)$(mb_whois bob 2>&1)" "" "$kind: looking says nothing"
    is "$(status mb_list bob)$(status mb_names)$(status mb_lookup bob)$(status mb_whois bob)" 0011 "$kind: looking succeeds or finds nothing"
    is "$(find "$MB_TEST_ROOT" -mindepth 1 -type d | wc -l | tr -d ' ')" 0 "$kind: looking makes nothing"
  }

  # Making a mailbox.
  export AGENT_MAILBOX_ID=alice
  is "$(status mb_ensure_inbox)" 0 "$kind: the inbox of the environment's id is made"
  is "$(cd "$MB_TEST_ROOT/alice" && echo */)" "archive/ inbox/ tmp/" "$kind: with its three folders"
  is "$(mode "$MB_TEST_ROOT/alice") $(mode "$MB_TEST_ROOT/alice/inbox")" "700 700" "$kind: nobody else looks in"
  is "$(status mb_ensure_inbox alice)" 0 "$kind: making it again is no error"
  is "$(mb_list 2>&1)" "" "$kind: an empty inbox lists nothing and says nothing"

  # A file as the body, which lies in the root itself.
  root $kind
  mkdir -p "$MB_TEST_ROOT"; printf '# Findings\n\nThe flow is sound.\n' > "$MB_TEST_ROOT/body.md"
  export AGENT_MAILBOX_ID=bob
  name=$(mb_send alice "$MB_TEST_ROOT/body.md" 'auth flow: findings!')
  like "$name" '^[0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}-auth-flow-findings\.md$' "$kind: the file name has time, id and subject"
  is "$(files "$(mb_dir alice)/inbox") $(files "$(mb_dir alice)/tmp")" "1 0" "$kind: one message, nothing left in tmp"
  sent=$(mb_dir alice)/inbox/$name
  is "$(field from "$sent") $(field to "$sent")" "bob alice" "$kind: from and to are ids"
  is "$(field subject "$sent")" 'auth flow: findings!' "$kind: the subject as it was given"
  like "$(field msg_id "$sent")" "^${name:17:8}-" "$kind: the name has the first digits of the id"
  is "$(tail -n +8 "$sent")" "$(cat "$MB_TEST_ROOT/body.md")" "$kind: the body as it was given"
  is "$(sed -n '1p;6,7p' "$sent" | tr '\n' '|')" '---|---||' "$kind: the envelope ends with a blank line"
  case $kind in
    stray) is "$(cat "$MB_TEST_ROOT/test.log") $(mode "$MB_TEST_ROOT/test.log")" "log 644" "$kind: the file keeps content and mode" ;;
    handoff) is "$(cat "$MB_TEST_ROOT/handoff.md") $(mode "$MB_TEST_ROOT/handoff.md")" "# Findings 664" "$kind: the file keeps content and mode" ;;
  esac

  # Registering first of all.
  root $kind
  is "$(AGENT_MAILBOX_ID=id-bob mb_register bob)" bob "$kind: a name is registered"
  is "$(mb_lookup bob)" "$(printf 'id-bob\t%s/id-bob/inbox' "$MB_TEST_ROOT")" "$kind: and found"

  # Waiting first of all.
  root $kind
  is "$(AGENT_MAILBOX_ID=carol status mb_wait 0)" 1 "$kind: waiting in an empty inbox times out"
  is "$([ -d "$MB_TEST_ROOT/carol/inbox" ]; echo $?)" 0 "$kind: and the inbox is there"
done

# Bodies.
root missing
export AGENT_MAILBOX_ID=bob
name=$(mb_send alice - streamed <<'BODY'
A `command`, a $variable and a \ stay.
BODY
)
is "$(tail -n +8 "$(mb_dir alice)/inbox/$name")" 'A `command`, a $variable and a \ stay.' "standard input is the body"
name=$(mb_send alice /dev/null)
is "$(field subject "$(mb_dir alice)/inbox/$name")" message "without a subject it is message"
is "$(tail -n +8 "$(mb_dir alice)/inbox/$name" | wc -c | tr -d ' ')" 0 "a body may be empty"
name=$(mb_send alice - '' '' < /dev/null)
is "$(grep -c reply_to "$(mb_dir alice)/inbox/$name")" 0 "no reply_to unless there is one"
name=$(echo x | mb_send alice - 're: it' abcd-1)
is "$(sed -n 4,6p "$(mb_dir alice)/inbox/$name" | tr '\n' '|')" 'subject: re: it|reply_to: abcd-1|to: alice|' "reply_to stands between subject and to"
is "$(printf 'no end' | mb_send alice - > name; tail -c 6 "$(mb_dir alice)/inbox/$(cat name)")" 'no end' "no line break is added"
name=$(mb_send alice - '!!!' < /dev/null)
like "$name" '^[0-9TZ]{16}-[0-9a-f]{8}-(message)?\.md$' "a subject without letters has a name too"
is "$([ "$(status mb_send alice no-such-file s)" -ne 0 ]; echo $?)" 0 "a missing file is an error"
is "$(files "$(mb_dir alice)/inbox")" 6 "and sends nothing"
is "$(unset AGENT_MAILBOX_ID; echo x | mb_send dave - s > name; field from "$(mb_dir dave)/inbox/$(cat name)" | wc -c | tr -d ' ')" 37 "without an identity a message comes from a minted id"

# Reading.
root made
export AGENT_MAILBOX_ID=alice
for n in 1 2 3; do echo $n | AGENT_MAILBOX_ID=bob mb_send alice - "number $n" > /dev/null; done
is "$(mb_list | wc -l | tr -d ' ')" 3 "one line for each message"
is "$(mb_list)" "$(mb_list | sort)" "in order of names"
is "$(mb_list alice)" "$(mb_list)" "by id as by identity"
is "$(mb_list | sed 's|/[^/]*$||' | sort -u)" "$(mb_dir alice)/inbox" "as whole paths"
touch "$(mb_dir alice)/inbox/note.txt"; is "$(mb_list | wc -l | tr -d ' ')" 3 "only files called *.md"
rm "$(mb_dir alice)/inbox/note.txt"
first=$(mb_list | head -1)
is "$(status mb_archive "$first")" 0 "a path is archived"
is "$(mb_list | wc -l | tr -d ' ') $(files "$(mb_dir alice)/archive")" "2 1" "it is in archive and not in inbox"
is "$(status mb_archive "$first")" 0 "twice is no error"
is "$(status mb_archive "$(basename "$(mb_list | head -1)")" alice)" 0 "a name is archived"
is "$(status mb_archive never-there.md)" 0 "what was never there is no error"
is "$(mb_list | wc -l | tr -d ' ') $(files "$(mb_dir alice)/archive")" "1 2" "and nothing else moved"

# Waiting.
for watch in MB_NO_FSWATCH=1 _unused=1; do
  root made
  export AGENT_MAILBOX_ID=alice "$watch" MB_POLL_INTERVAL=0.05
  is "$(status mb_wait 1)" 1 "$watch: a wait in an empty inbox ends with 1"
  is "$(status mb_wait 0 erin)" 1 "$watch: also for another id"
  (until [ -e "$MB_TEST_ROOT/alice/.alive" ]; do :; done; echo x | AGENT_MAILBOX_ID=bob mb_send alice - s > /dev/null) &
  is "$(status mb_wait 60)" 0 "$watch: a message that arrives ends it with 0"
  wait
  is "$(status mb_wait 60)" 0 "$watch: a message that is there ends it at once"
  is "$(status mb_wait)" 0 "$watch: also without a time"
  is "$(mb_list | wc -l | tr -d ' ')" 1 "$watch: waiting consumes nothing"
done

# Names.
root made
is "$(AGENT_MAILBOX_ID=id-bob AGENT_HARNESS=claude mb_register bob)" bob "the registered name is printed"
is "$(AGENT_MAILBOX_ID=id-other mb_register bob)" collision "a taken name is a collision"
is "$(AGENT_MAILBOX_ID=id-bob mb_register bob)" collision "also for its owner"
is "$(AGENT_MAILBOX_ID=id-parent mb_register alice id-child)" alice "a parent registers its child"
is "$(mb_names | tr '\n' ' ')" "bob alice " "one name in each line, in order"
is "$(mb_lookup alice | cut -f1)" id-child "a name leads to the id it was registered for"
is "$(mb_lookup bob | cut -f2)" "$MB_TEST_ROOT/id-bob/inbox" "and to its inbox"
is "$(mb_whois id-child)" alice "an id leads to its name"
is "$(mb_whois id-parent)$(status mb_whois id-parent)" 1 "an id without a name prints nothing and ends with 1"
is "$(mb_lookup nobody)$(status mb_lookup nobody)" 1 "so does an unknown name"
is "$(grep -c '"bob"' "$MB_TEST_ROOT/registry.json")" 1 "a name stands once"
like "$(grep '"bob"' "$MB_TEST_ROOT/registry.json")" '^  "bob": \{"id":"id-bob","harness":"claude","inbox":"[^"]*/id-bob/inbox","pid":[0-9]+,"created":"[0-9TZ:-]{20}"\},?$' "the line as other engines read it"
name=$(AGENT_MAILBOX_ID=id-third mb_register)
like "$name" '^agent-[0-9a-f]{4}$' "a name is made up when none is given"
is "$(mb_whois id-third)" "$name" "and registered"
AGENT_MAILBOX_ID=id-fourth MB_NO_FLOCK=1 mb_register dora > /dev/null
is "$(mb_names | wc -l | tr -d ' ')" 4 "registering works where flock(1) is not wanted"

for flock in MB_NO_FLOCK=1 _unused=1; do
  root missing
  for n in 1 2 3 4 5; do (export "$flock" AGENT_MAILBOX_ID=id-$n; mb_register name-$n > /dev/null) & done
  wait
  is "$(mb_names | sort | tr '\n' ' ')" "name-1 name-2 name-3 name-4 name-5 " "$flock: five at once are all registered"
done

is "$(AGENT_MAILBOX_DIR=/elsewhere mb_root)" /elsewhere "AGENT_MAILBOX_DIR moves the root"

echo "checks: $count"
