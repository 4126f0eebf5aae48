//go:build extra

package power

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tape/internal/testkit/gitjudge"
)

// template makes the workspace that every cut begins with: tapes with phases, forks, an archive, packed and loose
// objects, and a remote that has diverged.
func (w *world) template() {
	w.url = gitjudge.HTTP(w.t, filepath.Dir(w.bare), "", "") + "/" + filepath.Base(w.bare)
	gitjudge.BareIn(w.t, w.bare)
	bob := filepath.Join(w.out, "bob")
	w.must("tape", "init", w.workspace())
	w.must("git", "-C", w.workspace(), "remote", "add", "origin", w.url)
	w.script(w.workspace(), strings.Split(`append --text zqone
append --text zqtwo
handoff plan --summary so~far
append --kind event --payload {"name":"n","data":{"t":"zqthree"}}
append --kind tool_result --payload {"results":["zqfour"]}
handoff implement
append --text zqfive
new other
append --tape other --text zqsix
handoff --tape other step
append --tape other --text zqseven
push
gc
fork try-a
append --tape main/try-a --text zqforka
handoff --tape main/try-a forked
append --tape main/try-a --text zqforkaa
fork try-b
append --tape main/try-b --text zqforkb
new old
append --tape old --text zqarchived
reset --tape old --archive --yes
append --tape old --text zqold
handoff --tape old step
append --tape old --text zqolder
append --text zqlocal
handoff here
append --text zqlater
append --tape other --text zqunpushed
search --all-tapes zqone`, "\n"))
	w.must("tape", "clone", w.url, bob)
	w.script(bob, strings.Split(`append --text zqbobmain
handoff there
append --text zqbobmore
fork bobs
append --tape main/bobs --text zqbobfork
new fresh
append --tape fresh --text zqbobfresh
push --forks`, "\n"))
	w.must("git", "-C", w.bare, "gc", "-q")
	for tape, texts := range map[string]string{
		"main": "zqone zqtwo zqthree zqfour zqfive zqlocal zqlater", "other": "zqsix zqseven zqunpushed", "main/try-a": "zqforka zqforkaa",
		"main/try-b": "zqforkb",
		"old":        "zqold zqolder",
	} {
		w.expect(tape, strings.Fields(texts)...).kept = true
	}
	w.odd = w.oddFiles()
	if err := w.disk.sync(); err != nil {
		w.t.Fatal(err)
	}
}

// script runs commands in a workspace, one on each line. A ~ stands for a space within a word.
func (w *world) script(dir string, lines []string) {
	w.t.Helper()
	for _, line := range lines {
		args := []string{"--workspace", dir}
		for _, word := range strings.Fields(line) {
			args = append(args, strings.ReplaceAll(word, "~", " "))
		}
		w.must("tape", args...)
	}
}

// soak makes copies of one world.
type soak struct {
	t      *testing.T
	folder string
	first  *world         // the original, which is never cut
	ops    map[string]int // the number of operations, by scenario
	failed map[string]int // the number of failures, by message
}

func newSoak(t *testing.T) *soak {
	folder := t.TempDir()
	for _, name := range []string{"out", "remotes"} {
		if err := os.Mkdir(filepath.Join(folder, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w := &world{t: t, prefix: "t", disk: newDisk(t, folder), out: filepath.Join(folder, "out"), bare: filepath.Join(folder, "remotes", "sessions.git")}
	defer func() {
		if t.Failed() {
			t.Logf("the commands:\n%s", w.said.String())
		}
	}()
	w.template()
	if err := w.disk.unmount(); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(folder, "remote"), os.DirFS(w.bare)); err != nil {
		t.Fatal(err)
	}
	return &soak{t: t, folder: folder, first: w, ops: map[string]int{}, failed: map[string]int{}}
}

// world makes a copy of the first world. Only one copy may be in use at a time, because all have the same path,
// which git stores.
func (s *soak) world(t *testing.T, prefix string) *world {
	t.Helper()
	d := &disk{image: filepath.Join(s.folder, "copy"), dir: s.first.disk.dir}
	w := &world{t: t, disk: d, out: filepath.Join(s.folder, "out-"+prefix), bare: s.first.bare, url: s.first.url, prefix: prefix, odd: s.first.odd}
	for _, p := range s.first.promises {
		again := *p
		w.promises = append(w.promises, &again)
	}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	// Requests of the previous cut may still be running. They go on in the former remote.
	former, err := os.MkdirTemp(s.folder, "former-*")
	must(err)
	must(os.Rename(w.bare, filepath.Join(former, "remote")))
	defer os.RemoveAll(former)
	must(os.RemoveAll(w.out))
	must(os.CopyFS(w.bare, os.DirFS(filepath.Join(s.folder, "remote"))))
	must(os.Mkdir(w.out, 0o700))
	must(copyImage(s.first.disk.image, d.image))
	return w
}
