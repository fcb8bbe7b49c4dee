# Completions of postroom for bash: eval "$(postroom tools completions bash)"
_postroom() {
    local IFS=$' \t\n' line=${COMP_LINE:0:COMP_POINT} word kept reply
    local -a words
    COMPREPLY=()
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=('')
    word=${words[${#words[@]} - 1]}
    # bash replaces only what follows the = of an option.
    [[ $COMP_WORDBREAKS == *=* ]] && kept=${word%"${word##*=}"}
    while IFS= read -r reply; do
        if [[ $reply == / ]]; then
            compopt -o default 2>/dev/null
        else
            reply=${reply%%$'\t'*}
            COMPREPLY+=("${reply#"$kept"}")
        fi
    done < <(postroom complete -- "${words[@]}" 2>/dev/null </dev/null)
}
complete -F _postroom postroom
