package merge_test

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tape/internal/testkit/gitjudge"
	"tape/internal/text/jsonl"
	"tape/merge"
	"tape/repo"
)

// user is somebody with a workspace that has the remote "origin".
type user struct {
	*testing.T
	s *repo.Store
}

// begins makes a new workspace with a remote.
func begins(t *testing.T, url string) *user {
	t.Helper()
	s, _, err := repo.Init(t.Context(), filepath.Join(t.TempDir(), "ws"), nil)
	u := &user{t, s}
	u.ok(err)
	u.ok(s.AddRemote(t.Context(), "origin", url))
	return u
}

// clones makes a workspace from a remote.
func clones(t *testing.T, url string) *user {
	t.Helper()
	s, done, err := repo.Clone(t.Context(), url, filepath.Join(t.TempDir(), "ws"), nil)
	u := &user{t, s}
	u.ok(err)
	for _, r := range done.Rejected {
		t.Errorf("clone: %s: %v", r.Ref, r.Err)
	}
	return u
}

func (u *user) ok(err error) {
	u.Helper()
	if err != nil {
		u.Fatal(err)
	}
}

func (u *user) tape(name string) *repo.Tape {
	u.Helper()
	t, err := u.s.Tape(u.Context(), name)
	u.ok(err)
	return t
}

func (u *user) says(tape string, texts ...string) {
	u.Helper()
	for _, text := range texts {
		_, err := u.tape(tape).Append(u.Context(), nil, repo.Message("user", text))
		u.ok(err)
	}
}

func (u *user) handsOff(tape, anchor string) {
	u.Helper()
	_, err := u.tape(tape).Handoff(u.Context(), repo.Anchor{Name: anchor})
	u.ok(err)
}

// outcome lists what moved, as "tape status, …".
func outcome(done []repo.RefStatus) string {
	var out []string
	for _, d := range done {
		if d.Status != repo.RefUpToDate {
			out = append(out, d.Tape+" "+d.Status)
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// pushes, pulls and fetches fail the test unless the outcome is want.
func (u *user) pushes(want string, o repo.PushOptions) []repo.RefStatus {
	u.Helper()
	done, err := u.s.Push(u.Context(), "origin", &o)
	u.wantOutcome("push", want, done, err)
	return done
}

func (u *user) pulls(want string, archives bool) {
	u.Helper()
	done, err := merge.Pull(u.Context(), u.s, "origin", &merge.PullOptions{Archives: archives})
	u.wantOutcome("pull", want, done, err)
}

func (u *user) fetches(want string) {
	u.Helper()
	done, err := u.s.Fetch(u.Context(), "origin", nil)
	u.wantOutcome("fetch", want, done, err)
}

func (u *user) wantOutcome(what, want string, done []repo.RefStatus, err error) {
	u.Helper()
	u.ok(err)
	if got := outcome(done); got != want {
		u.Errorf("%s: %q, want %q", what, got, want)
		for _, d := range done {
			if d.Err != nil {
				u.Errorf("%s: %v", d.Tape, d.Err)
			}
		}
	}
}

// heard fails unless a tape has exactly the given messages in order, and ids without gaps.
func (u *user) heard(tape string, want ...string) {
	u.Helper()
	var got []string
	var last int64
	for e, err := range u.tape(tape).Entries(u.Context(), repo.Query{}) {
		u.ok(err)
		if last++; e.ID != last {
			u.Errorf("%s: entry %d has the id %d", tape, last, e.ID)
		}
		if e.Kind == repo.KindMessage {
			got = append(got, messageText(e))
		}
	}
	if !slices.Equal(got, want) {
		u.Errorf("%s has %q, want %q", tape, got, want)
	}
}

// refs returns the refs of a repository below the given prefixes.
func refs(t testing.TB, dir string, below ...string) string {
	t.Helper()
	return gitSays(t, dir, append([]string{"for-each-ref", "--format=%(refname) %(objectname)"}, below...)...)
}

func gitSays(t testing.TB, dir string, args ...string) string {
	t.Helper()
	out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// sound fails unless verify and git fsck find nothing wrong with a workspace.
func sound(t testing.TB, dir string) {
	t.Helper()
	s, err := repo.Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	report, err := s.Verify(t.Context()) // git fsck --strict is part of it
	if err != nil {
		t.Fatal(err)
	}
	if !report.GitFsck {
		t.Error("verify did not run git fsck")
	}
	for _, p := range report.Problems {
		t.Errorf("verify: %v", p)
	}
}

// Two users get the same result with a remote at a path, at a file URL and over http.
func TestPeers(t *testing.T) {
	for _, way := range []string{"path", "file", "http"} {
		t.Run(way, func(t *testing.T) {
			dir := gitjudge.Bare(t)
			url := dir
			switch way {
			case "file":
				url = "file://" + filepath.ToSlash(dir)
			case "http":
				url = gitjudge.HTTP(t, filepath.Dir(dir), "ann", "s3cret word") + "/" + filepath.Base(dir)
			}
			ann := begins(t, url)
			ann.says("main", "one")
			ann.handsOff("main", "plan")
			_, err := ann.s.CreateTape(t.Context(), "notes")
			ann.ok(err)
			ann.says("notes", "noted")
			ann.pushes("main new, notes new", repo.PushOptions{})
			bob := clones(t, url)
			bob.heard("main", "one")
			bob.heard("notes", "noted")

			bothWrite(ann, bob)
			bothHaveForks(ann, bob)
			archiveIsPulled(ann, bob)

			const shared = "refs/tape/archive"
			all := refs(t, dir, "refs/heads", "refs/tags", shared)
			for who, u := range map[string]*user{"ann": ann, "bob": bob} {
				if got := refs(t, u.s.Dir(), "refs/heads", "refs/tags", shared); got != all {
					t.Errorf("%s has the refs\n%s\nand the remote\n%s", who, got, all)
				}
				if got := gitSays(t, u.s.Dir(), "status", "--porcelain"); got != "" {
					t.Errorf("%s: git status is not clean:\n%s", who, got)
				}
				sound(t, u.s.Dir())
			}
			gitSays(t, dir, "fsck", "--strict")
		})
	}
}

// bothWrite lets both write at the same time, with phases of the same name.
func bothWrite(ann, bob *user) {
	ann.Helper()
	for who, u := range map[string]*user{"ann": ann, "bob": bob} {
		u.says("main", who+" 1")
		u.handsOff("main", "build")
		u.says("main", who+" 2") // not committed yet
	}
	ann.pushes("main fast_forward", repo.PushOptions{})
	rejected := bob.pushes("main rejected", repo.PushOptions{})
	if hint := fmt.Sprint(repo.Hints(rejected[0].Err)); !errors.Is(rejected[0].Err, repo.ErrConflict) || !strings.Contains(hint, "pull-then-push") {
		bob.Errorf("error %v with the hints %q, want a conflict with pull-then-push", rejected[0].Err, hint)
	}
	bob.pulls("main merged", false)
	bob.heard("main", "one", "ann 1", "ann 2", "bob 1", "bob 2")
	bob.pushes("main fast_forward", repo.PushOptions{})
	ann.pulls("main fast_forward", false)
	ann.heard("main", "one", "ann 1", "ann 2", "bob 1", "bob 2")
	for _, u := range []*user{ann, bob} {
		u.fetches("")
		u.pulls("", false)
		u.pushes("", repo.PushOptions{})
	}
}

// bothHaveForks lets one continue the other's fork, merge and close it.
func bothHaveForks(ann, bob *user) {
	ann.Helper()
	forks := repo.PushOptions{Forks: true}
	for _, name := range []string{"idea", "trial"} {
		_, err := ann.tape("main").Fork(ann.Context(), name)
		ann.ok(err)
		ann.says("main/"+name, "ann's "+name)
	}
	ann.pushes("main/idea new, main/trial new", forks)
	bob.pulls("main/idea new, main/trial new", false)
	bob.says("main/idea", "bob's idea")
	bob.handsOff("main/idea", "thought")
	bob.pushes("main/idea fast_forward", forks)
	ann.says("main", "beside it")
	ann.says("main/idea", "ann's more")
	ann.pulls("main/idea merged", false)
	r, err := merge.Back(ann.Context(), ann.tape("main/idea"))
	ann.ok(err)
	if !r.Closed || r.Into != "main" {
		ann.Errorf("the merge returns %+v, want it closed into main", r)
	}
	ann.pushes("main fast_forward, main/idea deleted", forks)
	if _, err = merge.Back(bob.Context(), bob.tape("main/trial")); err != nil { // at the same time
		bob.Error(err)
	}
	bob.pulls("main merged, main/idea deleted", false)
	bob.pushes("main fast_forward, main/trial deleted", forks)
	ann.pulls("main fast_forward, main/trial deleted", false)
	for _, u := range []*user{ann, bob} {
		u.heard("main", "one", "ann 1", "ann 2", "bob 1", "bob 2", "beside it", "ann's idea", "bob's idea", "ann's more", "ann's trial")
		if forks, err := u.s.Forks(u.Context()); err != nil || len(forks) > 0 {
			u.Errorf("%d forks are left (%v), want none", len(forks), err)
		}
		u.fetches("")
	}
}

// archiveIsPulled lets one push an archive and the other ask for it.
func archiveIsPulled(ann, bob *user) {
	ann.Helper()
	_, err := ann.s.CreateTape(ann.Context(), "draft")
	ann.ok(err)
	ann.says("draft", "put away")
	_, err = ann.tape("draft").Reset(ann.Context(), true)
	ann.ok(err)
	ann.says("draft", "again")
	ann.pushes("draft new, draft new", repo.PushOptions{Archives: true})
	bob.pulls("draft new", false)
	bob.pulls("draft new", true)
	bob.heard("draft", "again")
	archives, err := bob.tape("draft").Archives(bob.Context())
	bob.ok(err)
	if len(archives) != 1 {
		bob.Errorf("bob has %d archives, want 1", len(archives))
	}
	bob.says("draft", fmt.Sprint("archives: ", len(archives)))
	bob.pushes("draft fast_forward", repo.PushOptions{Archives: true})
	ann.pulls("draft fast_forward", true)
}

func messageText(e repo.Entry) string { return jsonl.GetString(e.Payload, "content") }
