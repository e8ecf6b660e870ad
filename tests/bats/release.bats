# What `meson dist` makes of which commit: an archive, and whether it is the release.

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	mkdir -p src/tests src/debian
	cp "$BATS_TEST_DIRNAME/../versions.sh" src/tests
	cd src || return
	printf '%s\n' "project('cellfs'," "  version: '1.2.0'," ")" \
		"meson.add_dist_script('tests/versions.sh')" >meson.build
	echo '## 1.2.0, not released yet' >CHANGELOG.md
	echo 'cellfs (1.2.0) UNRELEASED; urgency=medium' >debian/changelog
	git init -q
	commit first
	meson setup ../build >../log
}

commit() {
	git add .
	git -c user.name=x -c user.email=x@example.org commit -q --allow-empty -m "$1"
}

dist() {
	rm -rf ../build/meson-dist
	run meson dist -C ../build --no-tests
}

@test "a commit without the tag is archived, and said to be no release" {
	dist
	[ "$status" -eq 0 ]
	[[ $output == *"not a release: the tag v1.2.0 is not on this commit"* ]]
	[ -e ../build/meson-dist/cellfs-1.2.0.tar.xz ]
}

@test "the commit with the tag is the release, and one behind it is none" {
	git tag v1.2.0
	dist
	[ "$status" -eq 0 ]
	[[ $output != *"not a release"* ]]
	commit second
	dist
	[ "$status" -ne 0 ]
	[[ $output == *"the tag v1.2.0 is on another commit: say a new version"* ]]
	[ ! -e ../build/meson-dist/cellfs-1.2.0.tar.xz ]
}

@test "a version that is not the same everywhere is not archived" {
	echo '## 1.3.0' >CHANGELOG.md
	commit third
	dist
	[ "$status" -ne 0 ]
	[[ $output == *"meson.build says 1.2.0, CHANGELOG.md 1.3.0"* ]]
}
