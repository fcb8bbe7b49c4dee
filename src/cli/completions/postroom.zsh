#compdef postroom
# Completions of postroom for zsh: eval "$(postroom tools completions zsh)", after compinit
_postroom() {
    local line value
    local -a offers
    for line in "${(@f)$(postroom complete -- "${(@Q)words[1,CURRENT-1]}" "$PREFIX" 2>/dev/null </dev/null)}"; do
        if [[ $line == / ]]; then
            _files
            return
        fi
        value=${line%%$'\t'*}
        [[ -n $value ]] && offers+=("$value${${line#"$value"}/#$'\t'/:}")
    done
    _describe -V postroom offers
}
if [[ ${funcstack[1]} == _postroom ]]; then
    _postroom "$@"
else
    compdef _postroom postroom
fi
