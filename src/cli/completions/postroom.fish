# Completions of postroom for fish: postroom tools completions fish | source
function __postroom_complete
    set -l current (commandline -ct)
    for line in (postroom complete -- (commandline -opc) "$current" 2>/dev/null </dev/null)
        if test "$line" = /
            __fish_complete_path "$current"
        else
            printf '%s\n' "$line"
        end
    end
end
complete -c postroom -f -k -a '(__postroom_complete)'
