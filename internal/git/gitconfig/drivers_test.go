package gitconfig

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tape/internal/git/disk"
	"tape/internal/git/gitlock"
	"tape/internal/testkit/gitjudge"
)

func testDrivers() Drivers {
	return Drivers{
		Settings: [][]Setting{
			{{"diff.tape.textconv", `f() { x "$1" || cat <"$1"; }; f # \d`}, {"diff.tape.xfuncname", "^@[0-9]+\t.*"}},
			{{"merge.tape.driver", `f() { y "$@"; }; f %O %A`}, {"merge.tape.name", "m"}},
			{{"merge.ff", "false"}, {"pull.ff", "true"}},
		},
		Patterns: []Pattern{{"a/**/*.jsonl", []string{"diff=tape", "merge=tape"}}, {"a/**/one.json", []string{"diff=tape", "merge=tape"}}},
		Mark:     "written by a test",
	}
}

// olderDrivers are the drivers of a version that configured only diffs.
func olderDrivers() Drivers {
	d := testDrivers()
	d.Settings = d.Settings[:1]
	for i := range d.Patterns {
		d.Patterns[i].Attributes = d.Patterns[i].Attributes[:1]
	}
	return d
}

// writeBoth writes config and info/attributes, and removes our file; nil removes the attributes.
func writeBoth(j *gitjudge.Judge, config, attributes []byte) {
	j.OK(os.WriteFile(filepath.Join(j.GitDir, "config"), config, 0o600))
	j.OK((&disk.FS{}).Remove(configOf(j, nil).OwnPath()))
	name := filepath.Join(j.GitDir, "info", "attributes")
	if attributes == nil {
		j.OK((&disk.FS{}).Remove(name))
		return
	}
	j.OK(os.MkdirAll(filepath.Dir(name), 0o700))
	j.OK(os.WriteFile(name, attributes, 0o600))
}

// readBoth returns the contents of config and info/attributes, "(none)" for a missing file.
func readBoth(j *gitjudge.Judge) (config, attributes string) {
	read := func(name string) string {
		raw, err := os.ReadFile(filepath.Join(j.GitDir, name))
		if errors.Is(err, os.ErrNotExist) {
			return "(none)"
		}
		j.OK(err)
		return string(raw)
	}
	return read("config"), read("info/attributes")
}

// Whatever the two files look like: after an install git reads from them what it read
// before, and the driver. Another install changes nothing, and an uninstall restores the bytes
// that were there.
func TestDriversRoundTrip(t *testing.T) {
	j := gitjudge.New(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	d := testDrivers()
	for range 25 {
		config := pick("", "\ufeff") + "[core]\n\tbare = false\n"
		for range r.IntN(6) {
			config += pick("# c\n", "\n", "[a \"b\"]\n", "\tk = v ; x\n", "[user] name = A\r\n", "[diff \"other\"]\n\ttextconv = y\n",
				"\tl = 1 \\\n  2\n", "[diff \"tape\"]\n", "; "+d.Mark+"\n", "[merge]\n", "\trenames = true\n")
		}
		config += pick("", "[end]", "[end] k = v", "[end]\n  k = \"v\"", "# end")
		attributes := ""
		for range r.IntN(4) {
			attributes += pick("# c\n", "\n", "*.md diff=md\n", "*.c\ttext\r\n", "a/** -text\n")
		}
		attributes += pick("", "*.go diff=go")
		writeBoth(j, []byte(config), []byte(attributes))
		config, attributes = readBoth(j)
		before := j.Git("config", "--list", "--local", "--includes")

		repo := configOf(j, nil)
		if r.IntN(2) == 0 {
			_, err := repo.InstallDrivers(t.Context(), olderDrivers())
			j.OK(err)
		}
		done, err := repo.InstallDrivers(t.Context(), d)
		j.OK(err)
		want := []string{"diff.tape.textconv", "diff.tape.xfuncname", "merge.tape.driver", "merge.tape.name", "merge.ff", "pull.ff",
			"a/**/*.jsonl", "a/**/one.json"}
		if !slices.Equal(done.Installed, want) {
			t.Fatalf("%q, %q: installed %q, not %q", config, attributes, done.Installed, want)
		}
		for _, s := range slices.Concat(d.Settings...) {
			if got := j.Git("config", "--show-origin", "--get", s.Name); got != "file:.git/tape/gitconfig\t"+s.Value {
				t.Fatalf("%q: git reads %q", config, got)
			}
		}
		if after := j.Git("config", "--list", "--local", "--includes"); !strings.HasSuffix(after, before) {
			t.Fatalf("%q: git reads\n%s\nnot\n%s", config, after, before)
		}
		got := j.Git("check-attr", "diff", "merge", "--", "a/1/2/m.jsonl", "a/1/one.json", "m.jsonl")
		if strings.Count(got, "diff: tape") != 2 || strings.Count(got, "merge: tape") != 2 {
			t.Fatalf("%q: %s", attributes, got)
		}
		config2, attributes2 := readBoth(j)
		_, err = repo.InstallDrivers(t.Context(), d)
		j.OK(err)
		if c, a := readBoth(j); c != config2 || a != attributes2 {
			t.Fatalf("a second install makes of\n%s%s\nthis:\n%s%s", config2, attributes2, c, a)
		}
		removed, err := repo.RemoveDrivers(t.Context(), d)
		j.OK(err)
		if !slices.Equal(removed, want) {
			t.Fatalf("removed %q, not %q", removed, want)
		}
		if attributes == "" {
			attributes = "(none)" // a file that becomes empty is removed
		}
		if c, a := readBoth(j); c != config || a != attributes {
			t.Fatalf("%q and %q become %q and %q", config, attributes, c, a)
		}
	}
}

// If the include cannot be added without changing what else git reads, nothing is written. If
// the user added something to our section, an uninstall keeps it.
func TestDriversInAnOddConfiguration(t *testing.T) {
	j := gitjudge.New(t)
	original, _ := readBoth(j)
	writeBoth(j, []byte("stray = 1\n"+original), nil)
	if _, err := configOf(j, nil).InstallDrivers(t.Context(), testDrivers()); err == nil {
		t.Error("a key without a section was put into ours")
	}
	if _, err := os.Stat(configOf(j, nil).OwnPath()); err == nil {
		t.Error("a file was written that nothing includes")
	}
	writeBoth(j, []byte(original), nil)
	_, err := configOf(j, nil).InstallDrivers(t.Context(), testDrivers())
	j.OK(err)
	j.Git("config", "--add", "includeIf.gitdir:**.path", "mine")
	_, err = configOf(j, nil).InstallDrivers(t.Context(), testDrivers())
	j.OK(err)
	_, err = configOf(j, nil).RemoveDrivers(t.Context(), testDrivers())
	j.OK(err)
	if got := j.Git("config", "--get-all", "includeIf.gitdir:**.path"); !strings.HasSuffix(got, "mine") {
		t.Errorf("the user's include is gone: %q", got)
	}
	// git config include.path, the usual way to include a file, does not replace our include.
	writeBoth(j, []byte(original), nil)
	_, err = configOf(j, nil).InstallDrivers(t.Context(), testDrivers())
	j.OK(err)
	for _, name := range []string{"a", "b"} {
		j.Git("config", "include.path", name)
	}
	if got := j.Git("config", "--get", "merge.tape.driver"); got != testDrivers().Settings[1][0].Value {
		t.Errorf("git reads %q", got)
	}
}

// What somebody has put into the block stays.
func TestDriversPatterns(t *testing.T) {
	d := testDrivers()
	const edited = "# begin: written by a test\na/**/*.jsonl diff=tape\na/**/one.json diff=x merge=tape\n*.d diff=d\n"
	if rest, found := d.withoutPatterns([]byte(edited)); string(rest) != "a/**/one.json diff=x merge=tape\n*.d diff=d\n" || len(found) != 1 {
		t.Errorf("of a block that was edited, %q is left", rest)
	}
}

// The user's settings take precedence over ours, wherever they are. If the user has set the first
// of a group, none of our settings in the group is installed.
func TestDriversBesideTheUsers(t *testing.T) {
	j := gitjudge.New(t)
	d := testDrivers()
	original, _ := readBoth(j)
	for _, c := range []struct {
		set             []string // arguments of git config
		kept, installed []string
	}{
		{[]string{"--global", "merge.ff", "only"}, []string{"merge.ff"}, []string{"merge.tape.driver", "merge.tape.name"}},
		{[]string{"merge.FF", "true"}, []string{"merge.ff"}, []string{"merge.tape.driver", "merge.tape.name"}},
		{[]string{"--global", "pull.ff", "only"}, []string{"pull.ff"}, []string{"merge.tape.driver", "merge.tape.name", "merge.ff"}},
		{[]string{"merge.tape.driver", "false"}, []string{"merge.tape.driver"}, []string{"merge.ff", "pull.ff"}},
		{[]string{"merge.tape.name", "his"}, []string{"merge.tape.name"}, []string{"merge.tape.driver", "merge.ff", "pull.ff"}},
		{[]string{"merge.tape.recursive", "text"}, []string{"merge.tape.recursive"}, []string{"merge.tape.driver", "merge.tape.name", "merge.ff", "pull.ff"}},
		{[]string{"merge.conflictStyle", "diff3"}, nil, []string{"merge.tape.driver", "merge.tape.name", "merge.ff", "pull.ff"}},
	} {
		for _, first := range []bool{true, false} { // set before the install, or after it
			if !first {
				_, err := configOf(j, nil).InstallDrivers(t.Context(), d)
				j.OK(err)
			}
			j.Git(append([]string{"config"}, c.set...)...)
			done, err := configOf(j, nil).InstallDrivers(t.Context(), d)
			j.OK(err)
			if want := slices.Concat([]string{"diff.tape.textconv", "diff.tape.xfuncname"}, c.installed, []string{"a/**/*.jsonl", "a/**/one.json"}); !slices.Equal(done.Installed, want) ||
				!slices.Equal(done.Kept, c.kept) {
				t.Errorf("%q, set first %v: got %+v, want %q installed and %q kept", c.set, first, done, want, c.kept)
			}
			if got := j.Git(append([]string{"config", "--get"}, c.set[len(c.set)-2])...); got != c.set[len(c.set)-1] {
				t.Errorf("%q, set first %v: git reads %q", c.set, first, got)
			}
			_, err = configOf(j, nil).RemoveDrivers(t.Context(), d)
			j.OK(err)
			unset := slices.Concat([]string{"config"}, c.set[:len(c.set)-2], []string{"--unset", c.set[len(c.set)-2]})
			j.Git(unset...)
			if left, _ := readBoth(j); strings.Contains(left, "gitconfig") || len(left) > len(original)+40 {
				t.Errorf("%q, set first %v: after the removal the configuration is\n%s", c.set, first, left)
			}
			writeBoth(j, []byte(original), nil)
		}
	}
}

// Git runs the configured merge driver, and only for the configured files.
func TestMergeDriverRuns(t *testing.T) {
	j := gitjudge.New(t)
	d := testDrivers()
	d.Settings[1][0].Value = `f() { cat "$1" "$3" >>"$2"; echo "$4" >>"$2"; }; f %O %A %B %P`
	_, err := configOf(j, nil).InstallDrivers(t.Context(), d)
	j.OK(err)
	commit := func(content string) {
		j.Write("a/0 '1/m.jsonl", content)
		j.Git("add", ".")
		j.Git("commit", "-qm", content)
	}
	commit("base\n")
	j.Git("branch", "other")
	commit("ours\n")
	j.Git("checkout", "-q", "other")
	commit("theirs\n")
	j.Git("checkout", "-q", "tape/main")
	j.Git("merge", "-q", "-m", "m", "other")
	if got := j.Git("show", "HEAD:a/0 '1/m.jsonl"); got != "ours\nbase\ntheirs\na/0 '1/m.jsonl" {
		t.Errorf("merged: %q", got)
	}
	j.Git("branch", "ahead")
	j.Git("checkout", "-q", "ahead")
	commit("more\n")
	j.Git("checkout", "-q", "tape/main")
	j.Git("merge", "-q", "-m", "not a fast forward", "ahead")
	if got := j.Git("log", "-1", "--format=%s"); got != "not a fast forward" {
		t.Errorf("the last commit: %q", got)
	}
}

// The configuration file keeps its mode. If it is a link, the file that it leads to is changed.
func TestDriversFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes")
	}
	j := gitjudge.New(t)
	config := filepath.Join(j.GitDir, "config")
	elsewhere := filepath.Join(t.TempDir(), "config")
	j.OK(os.Rename(config, elsewhere))
	j.OK(os.Symlink(elsewhere, config))
	j.OK(os.Chmod(elsewhere, 0o644))
	_, err := configOf(j, nil).InstallDrivers(t.Context(), testDrivers())
	j.OK(err)
	if st, err := os.Lstat(config); err != nil || st.Mode()&os.ModeSymlink == 0 {
		t.Error("the link is gone")
	}
	if st, err := os.Stat(elsewhere); err != nil || st.Mode().Perm() != 0o644 {
		t.Errorf("the mode is %v, %v; want 0644", st.Mode(), err)
	}
	if got := j.Git("config", "diff.tape.xfuncname"); got != testDrivers().Settings[0][1].Value {
		t.Errorf("git reads diff.tape.xfuncname as %q", got)
	}
	// A process that is killed right after its rename leaves the mode of its lock.
	j.OK(os.Chmod(elsewhere, gitlock.Perm))
	_, err = configOf(j, nil).InstallDrivers(t.Context(), testDrivers())
	j.OK(err)
	if st, err := os.Stat(elsewhere); err != nil || st.Mode().Perm() != disk.FilePerm {
		t.Errorf("the mode is %v, %v; want %v", st.Mode(), err, disk.FilePerm)
	}
}

// We wait for somebody else's lock, but not for one that a killed process of ours left.
func TestDriversLocks(t *testing.T) {
	j := gitjudge.New(t)
	repo := New(j.GitDir, gitlock.Locks{Wait: 20 * time.Millisecond}, func(string) bool { return true }, nil)
	before, _ := readBoth(j)
	lock := filepath.Join(j.GitDir, "config.lock")
	j.OK(os.WriteFile(lock, nil, 0o600))
	if _, err := repo.InstallDrivers(t.Context(), testDrivers()); !errors.Is(err, gitlock.ErrBusy) {
		t.Errorf("beside somebody's lock: %v, want ErrBusy", err)
	}
	if after, _ := readBoth(j); after != before {
		t.Error("the configuration was changed beside somebody's lock")
	}
	j.OK(os.Chmod(lock, gitlock.Perm))
	_, err := repo.InstallDrivers(t.Context(), testDrivers())
	j.OK(err)
	if _, err := os.Stat(lock); !errors.Is(err, os.ErrNotExist) {
		t.Error("the lock is still there")
	}
}

// Each operation fails once, or the process dies at it: then each of the two files has its old
// or its new content, and the next call completes the change.
func TestDriversFaults(t *testing.T) {
	interruptDrivers(t, gitjudge.FailingAt)
	interruptDrivers(t, gitjudge.KilledAt)
}

func interruptDrivers(t *testing.T, faults func(n int64) (*disk.FS, func() bool)) {
	j := gitjudge.New(t)
	config, _ := readBoth(j)
	d := testDrivers()
	want := includeLines + config
	wantAttributes := d.addPatterns([]byte("*.c diff=c\n"))
	for n := int64(1); ; n++ {
		writeBoth(j, []byte(config), []byte("*.c diff=c\n"))
		fs, hit := faults(n)
		_, err := configOf(j, fs).InstallDrivers(t.Context(), d)
		c, a := readBoth(j)
		if c != config && c != want || a != "*.c diff=c\n" && a != string(wantAttributes) {
			t.Fatalf("operation %d failed: %q, %q", n, c, a)
		}
		if hit() != errors.Is(err, gitjudge.ErrKilled) {
			t.Fatalf("operation %d failed, and the call returned %v", n, err)
		}
		if _, err := configOf(j, nil).InstallDrivers(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if c, a := readBoth(j); c != want || a != string(wantAttributes) {
			t.Fatalf("after operation %d: %q, %q", n, c, a)
		}
		if !hit() {
			t.Logf("%d operations", n-1)
			return
		}
	}
}

// Git and we change the configuration at the same time, and neither loses anything.
func TestDriversBesideGit(t *testing.T) {
	j := gitjudge.New(t)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for range 5 {
				if _, err := configOf(j, nil).InstallDrivers(t.Context(), testDrivers()); err != nil {
					t.Error(err)
				}
				if _, err := configOf(j, nil).RemoveDrivers(t.Context(), testDrivers()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	const keys = "abcdefghijklmno"
	for _, key := range keys {
		for try := 0; ; try++ {
			_, err := j.TryGit(j.Dir, "config", "x."+string(key), "1")
			if err == nil {
				break
			}
			if try == 1000 { // git does not wait for a lock
				t.Fatal(err)
			}
		}
	}
	wg.Wait()
	for _, key := range keys {
		if got := j.Git("config", "x."+string(key)); got != "1" {
			t.Errorf("x.%c is %q", key, got)
		}
	}
}
