# Completion of cellctl in bash: cellctl itself knows what may follow.
# shellcheck shell=bash

_cellctl() {
	local cur words cword word i
	local -a given

	COMPREPLY=()
	# A column has a colon, where bash ends a word.
	_get_comp_words_by_ref -n := cur words cword || return
	for ((i = 1; i <= cword; i++)); do
		word=${words[i]/#\~\//$HOME/}
		given+=("${word//\\/}")
	done
	while IFS= read -r word; do
		case $word in
		:directories) compopt -o filenames && _filedir -d ;;
		:files) compopt -o filenames && _filedir ;;
		*)
			[[ $word != *: ]] || compopt -o nospace
			COMPREPLY+=("$(printf '%q' "$word")")
			;;
		esac
	done < <(cellctl complete "${given[@]}" 2>/dev/null)
	__ltrim_colon_completions "$cur"
}

complete -F _cellctl cellctl
