package projectgit

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// project makes a repository, and returns a function that runs git in it.
func project(t *testing.T) (dir string, git func(args ...string) string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	git = func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
			"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.org", "GIT_COMMITTER_NAME=Bob", "GIT_COMMITTER_EMAIL=bob@example.org",
			"GIT_AUTHOR_DATE=2026-11-20T10:00:00Z", "GIT_COMMITTER_DATE=2026-11-20T11:00:00Z")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q", "-b", "main")
	return dir, git
}

func write(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func show(runs []Run) (out []string) {
	for _, r := range runs {
		subject := r.Commit.Subject
		if !r.Committed() {
			subject = "-"
		}
		out = append(out, fmt.Sprintf("%d-%d %s", r.First, r.Last, subject))
	}
	return out
}

func TestBlame(t *testing.T) {
	dir, git := project(t)
	ctx := t.Context()
	file := write(t, dir, "a dir/-f[1].txt", "1\n2\n3\n4\n")
	if _, err := Blame(ctx, file, 0, 0); !errors.Is(err, ErrNotInGit) {
		t.Errorf("without any commit: %v", err)
	}
	git("add", ".")
	git("commit", "-qm", "first")
	write(t, dir, "a dir/-f[1].txt", "1\nB\nC\n4\nE\n")
	git("commit", "-qam", "second\n\nwith a body")
	write(t, dir, "a dir/-f[1].txt", "new\n1\nB\nC\n4\nE\n")
	for _, c := range []struct {
		first, last int
		want        string
	}{
		{0, 0, "1-1 -,2-2 first,3-4 second,5-5 first,6-6 second"},
		{3, 5, "3-4 second,5-5 first"},
		{1, 1, "1-1 -"},
	} {
		runs, err := Blame(ctx, file, c.first, c.last)
		if got := strings.Join(show(runs), ","); err != nil || got != c.want {
			t.Errorf("%d-%d: %s, not %s: %v", c.first, c.last, got, c.want, err)
		}
	}
	if _, err := Blame(ctx, file, 7, 8); !errors.Is(err, ErrNoLine) {
		t.Errorf("after the end: %v", err)
	}
	if _, err := Blame(ctx, write(t, dir, "untracked", "x"), 0, 0); !errors.Is(err, ErrNotInGit) {
		t.Errorf("a file that is not in git: %v", err)
	}
	runs, err := Blame(ctx, file, 3, 3)
	if err != nil {
		t.Fatal(err)
	}
	if c := runs[0].Commit; c.ID != git("rev-parse", "HEAD") || c.Author != "Ada" || !c.Authored.Equal(time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)) || runs[0].Boundary {
		t.Errorf("line 3 comes from %+v (boundary: %t), want HEAD by Ada", c, runs[0].Boundary)
	}
}

func TestOpen(t *testing.T) {
	dir, git := project(t)
	write(t, dir, "sub/f", "x")
	git("add", ".")
	git("commit", "-qm", "one")
	// The environment in a git hook names another repository.
	t.Setenv("GIT_DIR", t.TempDir())
	t.Setenv("GIT_INDEX_FILE", "nowhere")
	r, err := Open(t.Context(), filepath.Join(dir, "sub"))
	if err != nil || r.Top != dir || r.Shallow {
		t.Errorf("the repository is %+v, %v; want %s, not shallow", r, err, dir)
	}
	for _, name := range []string{"HEAD", "main", git("--git-dir="+dir+"/.git", "rev-parse", "--short", "HEAD")} {
		if c, ok, err := r.Commit(t.Context(), name); err != nil || !ok || c.Subject != "one" || c.Author != "Ada" {
			t.Errorf("%s: %+v, %v, %v", name, c, ok, err)
		}
	}
	for _, name := range []string{"nothing", "--all", "HEAD:sub", "sub", "", "HEAD..HEAD", "1234567"} {
		if c, ok, err := r.Commit(t.Context(), name); err != nil || ok {
			t.Errorf("%q names the commit %+v, %v; want none", name, c, err)
		}
	}
	for _, other := range []string{t.TempDir(), filepath.Join(dir, ".git")} {
		if r, err := Open(t.Context(), other); !errors.Is(err, ErrNoRepository) {
			t.Errorf("%s: %+v, %v; want ErrNoRepository", other, r, err)
		}
	}
	clone := t.TempDir()
	git("--git-dir="+dir+"/.git", "clone", "-q", "--depth=1", "file://"+dir, clone)
	if r, err := Open(t.Context(), clone); err != nil || !r.Shallow {
		t.Errorf("a shallow clone is %+v, %v", r, err)
	}
}

// Nothing that the settings and attributes of a repository name is run.
func TestHostileRepository(t *testing.T) {
	dir, git := project(t)
	mark := filepath.Join(t.TempDir(), "ran")
	file := write(t, dir, "f.x", "one\r\ntwo\r\n")
	write(t, dir, ".gitattributes", "*.x text eol=crlf filter=evil diff=evil\n*.x filter=odd=name\n")
	git("add", ".")
	git("commit", "-qm", "one")
	signed := strings.Replace(git("cat-file", "commit", "HEAD"), "\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n x\n -----END PGP SIGNATURE-----\n\n", 1) + "\n"
	git("reset", "-q", git("hash-object", "-t", "commit", "-w", write(t, t.TempDir(), "signed", signed)))
	evil := "echo x >>" + mark + "; cat"
	script := write(t, t.TempDir(), "gpg", "#!/bin/sh\necho x >>"+mark+"\n")
	if err := os.Chmod(script, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, s := range [][2]string{{"filter.evil.clean", evil}, {"filter.evil.smudge", evil}, {"filter.evil.required", "true"}, {"filter.odd=name.process", evil},
		{"diff.evil.textconv", evil}, {"diff.evil.command", evil}, {"diff.external", evil}, {"core.fsmonitor", evil}, {"core.pager", evil}, {"core.sshCommand", evil},
		{"pager.blame", evil}, {"pager.log", evil}, {"gpg.program", script}, {"log.showSignature", "true"}, {"alias.blame", "!" + evil}, {"core.hooksPath", dir},
		{"remote.origin.url", "ssh://example.invalid/x"}, {"remote.origin.promisor", "true"}, {"core.repositoryFormatVersion", "1"}, {"extensions.partialClone", "origin"}} {
		git("config", s[0], s[1])
	}
	write(t, dir, "f.x", "one\r\ntwo\r\nthree\r\n")
	r, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	head, ok, err := r.Commit(t.Context(), "HEAD")
	if !ok || err != nil {
		t.Fatal(err)
	}
	runs, err := Blame(t.Context(), file, 0, 0)
	if got := strings.Join(show(runs), ","); err != nil || got != "1-2 one,3-3 -" {
		t.Errorf("the lines come from %s, %v; want 1-2 one,3-3 -", got, err)
	}
	var ask Resolver
	defer ask.Close()
	if c, ok := ask.Resolve(t.Context(), dir, head.ID[:8]); !ok || len(c.Files) != 2 {
		t.Errorf("HEAD resolves to %+v, want two files", c)
	}
	if _, ok := ask.Resolve(t.Context(), dir, strings.Repeat("1", 40)); ok {
		t.Error("a missing commit was found")
	}
	if ran, err := os.ReadFile(mark); err == nil {
		t.Errorf("something was run: %q", ran)
	}
}

func TestResolver(t *testing.T) {
	dir, git := project(t)
	write(t, dir, "a", "1")
	write(t, dir, "b/ü \"x\"\n.", "1")
	git("add", ".")
	git("commit", "-qm", "root")
	for i := range MaxFiles + 5 {
		write(t, dir, fmt.Sprintf("many/%04d", i), "x")
	}
	git("add", ".")
	git("commit", "-qm", "many")
	git("commit", "-qm", "none", "--allow-empty")
	ids := strings.Fields(git("rev-list", "HEAD"))
	var ask Resolver
	defer ask.Close()
	for range 2 { // with the same two processes
		none, _ := ask.Resolve(t.Context(), dir, ids[0][:7])
		many, _ := ask.Resolve(t.Context(), dir, ids[1])
		root, ok := ask.Resolve(t.Context(), dir, ids[2][:10])
		if none.ID != ids[0] || none.Files != nil || many.ID != ids[1] || len(many.Files) != MaxFiles || many.More != 5 ||
			!ok || root.ID != ids[2] || !slices.Equal(root.Files, []string{"a", "b/ü \"x\"\n."}) {
			t.Errorf("a commit without files: %+v; one with many: %d and %d more; the first: %+v", none, len(many.Files), many.More, root)
		}
		for _, id := range []string{"fffffff", git("rev-parse", "HEAD^{tree}"), ids[0][:1]} {
			if c, ok := ask.Resolve(t.Context(), dir, id); ok {
				t.Errorf("%s resolves to %+v, want no commit", id, c)
			}
		}
	}
	other, gitOther := project(t)
	gitOther("commit", "-qm", "other", "--allow-empty")
	if c, ok := ask.Resolve(t.Context(), other, gitOther("rev-parse", "HEAD")[:9]); !ok || c.ID != gitOther("rev-parse", "HEAD") {
		t.Errorf("another project: %+v", c)
	}
	for _, nowhere := range []string{"", ".", t.TempDir(), filepath.Join(dir, "gone"), filepath.Join(dir, "a")} {
		if c, ok := ask.Resolve(t.Context(), nowhere, ids[0]); ok {
			t.Errorf("in %q: %+v", nowhere, c)
		}
	}
}

// Any output of git is parsed or refused.
func FuzzParseBlame(f *testing.F) {
	f.Add([]byte("1a2b 1 1 2\nauthor A\nsummary s\nfilename f\n1a2b 4 3 1\nfilename f\n"))
	f.Add([]byte("x\n\nfilename\n"))
	f.Fuzz(func(t *testing.T, out []byte) {
		runs, err := parseBlame(out)
		if err == nil && bytes.Count(out, []byte("filename")) < len(runs) {
			t.Errorf("%d runs of lines, more than git named", len(runs))
		}
	})
}

// TestDiff: new, deleted, renamed, binary and mode-only files, lines that look like headers, and what is too much.
func TestDiff(t *testing.T) {
	dir, git := project(t)
	write(t, dir, "a file", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")
	write(t, dir, "gone", "x\n")
	write(t, dir, "moved", strings.Repeat("a line that says enough\n", 9))
	git("add", ".")
	git("commit", "-qm", "first")
	write(t, dir, "a file", "1\n2\n3\n4\n5\n--- six\n7\n+++ b/x\n@@ -1 +1 @@\n")
	git("rm", "-q", "gone")
	git("mv", "moved", "größer")
	write(t, dir, "none", "")
	write(t, dir, "picture", "\x00\x01")
	write(t, dir, "a\"quoted\tname", "")
	git("add", ".")
	git("commit", "-qm", "second")
	r := Repo{Top: dir}
	diff := func(most int) string {
		t.Helper()
		files, err := r.Diff(t.Context(), "HEAD", most)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		for _, f := range files {
			fmt.Fprintf(&out, "%s (%s) new %t deleted %t binary %t +%d -%d left %d\n", f.Path, f.Former, f.New, f.Deleted, f.Binary, f.Added, f.Removed, f.Left)
			for _, h := range f.Hunks {
				fmt.Fprintf(&out, "%d: %s\n", h.New, strings.Join(h.Lines, "|"))
			}
		}
		return out.String()
	}
	const want = `a file () new false deleted false binary false +3 -3 left 0
3:  3| 4| 5|-6|+--- six| 7|-8|-9|++++ b/x|+@@ -1 +1 @@
` + "a\"quoted\tname () new true deleted false binary false +0 -0 left 0\n" + `gone () new false deleted true binary false +0 -1 left 0
0: -x
größer (moved) new false deleted false binary false +0 -0 left 0
none () new true deleted false binary false +0 -0 left 0
picture () new true deleted false binary true +0 -0 left 0
`
	if got := diff(100); got != want {
		t.Errorf("the changes are\n%s\nwant\n%s", got, want)
	}
	if got := diff(4); !strings.Contains(got, "+3 -3 left 6\n3:  3| 4| 5|-6\n") || !strings.Contains(got, "+0 -1 left 1") {
		t.Errorf("at most 4 lines are\n%s", got)
	}
	git("branch", "other", "HEAD~")
	branches, err := r.Branches(t.Context(), 9)
	if err != nil || len(branches) != 2 || branches[0].Subject == "" || branches[0].Changed.IsZero() {
		t.Errorf("the branches are %+v, %v", branches, err)
	}
}
