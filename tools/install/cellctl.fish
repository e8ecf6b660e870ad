# Completion of cellctl in fish: cellctl itself knows what may follow.

function __cellctl_complete
    set -l given (commandline -opc)[2..] (commandline -ct)
    for word in (cellctl complete (string replace -r '^~/' "$HOME/" -- $given) 2>/dev/null)
        switch $word
            case :directories
                __fish_complete_directories (commandline -ct)
            case :files
                __fish_complete_path (commandline -ct)
            case '*'
                echo $word
        end
    end
end

complete -c cellctl -f -a '(__cellctl_complete)'
