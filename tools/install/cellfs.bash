# Completion of cellfs in bash: its options are those that its help lists.
# shellcheck shell=bash

_cellfs() {
	local cur prev option before

	COMPREPLY=()
	_get_comp_words_by_ref -n =, cur prev || return
	if [[ $prev == -o ]]; then
		before=
		[[ $cur != *,* ]] || before=${cur%,*},
		compopt -o nospace
		while read -r option; do
			[[ $before$option != "$cur"* ]] ||
				COMPREPLY+=("$before$option")
		done < <(cellfs --help 2>/dev/null | sed -n 's/^  -o \([^ ]*\) .*/\1/p')
	elif [[ $cur == -* ]]; then
		while read -r option; do
			[[ $option != "$cur"* ]] || COMPREPLY+=("$option")
		done < <(cellfs --help 2>/dev/null | sed -n 's/^  \(-[^ ]*\) .*/\1/p' |
			sort -u)
	else
		compopt -o filenames
		_filedir -d
	fi
}

complete -F _cellfs cellfs
