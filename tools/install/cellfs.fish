# Completion of cellfs in fish: its options are those that its help lists.

function __cellfs_options
    set -l before (string replace -rf '(.*,).*' '$1' -- (commandline -ct))
    for option in (cellfs --help 2>/dev/null | string replace -rf '^  -o (\S+) .*' '$1')
        echo $before$option
    end
end

complete -c cellfs -f -a '(__fish_complete_directories (commandline -ct))'
complete -c cellfs -s o -x -a '(__cellfs_options)' -d 'options of the mount'
complete -c cellfs -s f -d 'stay in the foreground'
complete -c cellfs -s d -d 'print every request'
complete -c cellfs -l help -d 'print the options'
complete -c cellfs -l version -d 'print the versions'
