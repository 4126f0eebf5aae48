package merge_test

//tape:race: merges go on side by side

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tape/internal/testkit"
	"tape/internal/testkit/gitjudge"
	"tape/merge"
	"tape/repo"
)

func TestMain(m *testing.M) { testkit.Main(m, nil, runHelper) }

// helperDir names the workspace that a helper works in.
const helperDir = "TAPE_TEST_DIR"

// runHelper appends, pulls or pushes again and again until it is killed. It prints
// a line for each call that succeeded.
func runHelper(mode string) {
	ctx := context.Background()
	err := func() error {
		s, err := repo.Open(ctx, os.Getenv(helperDir), nil)
		if err != nil {
			return err
		}
		t, err := s.Tape(ctx, "main")
		for i := 0; err == nil; i++ {
			text := fmt.Sprintf("%s %d %d", mode, os.Getpid(), i)
			switch mode {
			case "append":
				_, err = t.Append(ctx, nil, repo.Message("user", text))
			case "pull":
				_, err = merge.Pull(ctx, s, "origin", nil)
			case "push":
				_, err = s.Push(ctx, "origin", nil)
			}
			if err == nil {
				fmt.Fprintln(os.Stdout, text)
			}
		}
		return err
	}()
	fmt.Fprintln(os.Stdout, "failed:", strings.ReplaceAll(err.Error(), "\n", " "))
}

// process is a helper at work.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when its output has ended
	said []string      // complete once done is closed
}

func helper(t *testing.T, dir, mode string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(self), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), testkit.HelperEnv+"="+mode, helperDir+"="+dir)
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		for in := bufio.NewReader(out); ; {
			line, err := in.ReadString('\n')
			if err != nil {
				return // an incomplete line acknowledges nothing
			}
			p.said = append(p.said, strings.TrimSpace(line))
		}
	}()
	return p
}

// kill kills the helper, and returns the lines that it printed.
func (p *process) kill(t *testing.T) []string {
	t.Helper()
	_ = p.cmd.Process.Kill()
	<-p.done
	_ = p.cmd.Wait() // says that it was killed
	for _, line := range p.said {
		if strings.HasPrefix(line, "failed:") {
			t.Errorf("a helper %s", line)
		}
	}
	return p.said
}

// scene is a remote and a workspace that have diverged.
type scene struct {
	remote, ws string
}

func newScene(t *testing.T) scene {
	t.Helper()
	remote := gitjudge.Bare(t)
	ann := begins(t, remote)
	ann.says("main", "one")
	ann.handsOff("main", "plan")
	_, err := ann.s.CreateTape(t.Context(), "notes")
	ann.ok(err)
	ann.pushes("main new, notes new", repo.PushOptions{})
	bob := clones(t, remote)
	ann.says("main", "ann 1", "ann 2")
	ann.says("notes", "ann's note")
	_, err = ann.s.CreateTape(t.Context(), "third")
	ann.ok(err)
	ann.pushes("main fast_forward, notes fast_forward, third new", repo.PushOptions{})
	bob.says("main", "bob 1")
	bob.handsOff("main", "build")
	bob.says("main", "bob 2")
	return scene{remote: remote, ws: bob.s.Dir()}
}

// copied gives a test a scene of its own.
func (s scene) copied(t *testing.T) scene {
	t.Helper()
	root := t.TempDir()
	out := scene{remote: filepath.Join(root, "remote.git"), ws: filepath.Join(root, "ws")}
	for from, to := range map[string]string{s.remote: out.remote, s.ws: out.ws} {
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	gitSays(t, out.ws, "config", "remote.origin.url", out.remote)
	return out
}

func (s scene) user(t *testing.T) *user {
	t.Helper()
	store, err := repo.Open(t.Context(), s.ws, nil)
	u := &user{t, store}
	u.ok(err)
	return u
}

// whole fails unless a pull and push without disturbance make both sides equal and complete.
func (s scene) whole(u *user) {
	u.Helper()
	gitSays(u, s.ws, "config", "remote.origin.url", s.remote)
	if _, err := merge.Pull(u.Context(), u.s, "origin", nil); err != nil {
		u.Errorf("pull again: %v", err)
	}
	u.heard("main", "one", "ann 1", "ann 2", "bob 1", "bob 2")
	u.heard("notes", "ann's note")
	if done, err := u.s.Push(u.Context(), "origin", nil); err != nil || strings.Contains(outcome(done), "rejected") {
		u.Errorf("push again: %s, %v", outcome(done), err)
	}
	if here, there := refs(u, s.ws, shared...), refs(u, s.remote, shared...); here != there {
		u.Errorf("the workspace has\n%s\nand the remote\n%s", here, there)
	}
	sound(u, s.ws)
	gitSays(u, s.remote, "fsck", "--strict")
}

// Refs that both sides have, and refs that a failed fetch must leave as they are.
var (
	shared = []string{"refs/heads", "refs/tags"}
	kept   = []string{"refs/heads", "refs/tags", "refs/tape/remotes", "refs/tape/archive"}
)

// TestPullCut cuts the connection in the middle of a pull, a push and a clone. Refs stay, the error is
// one of the remote, and another try works.
func TestPullCut(t *testing.T) {
	made := newScene(t)
	rng := testkit.Random(t)
	for name, direction := range map[string]gitjudge.Direction{"from server": gitjudge.FromServer, "to server": gitjudge.ToServer} {
		for range testkit.Size(1, 60) {
			after := rng.Int64N(6000)
			t.Run(fmt.Sprint(name, " at ", after), func(t *testing.T) {
				t.Parallel()
				s := made.copied(t)
				address := gitjudge.HTTP(t, filepath.Dir(s.remote), "ann", "pw") + "/" + filepath.Base(s.remote)
				cut := func() string { return gitjudge.Cut(t, address, after, direction) }
				cutPull(t, s, cut)
				cutPush(t, s, cut)
				cutClone(t, s, cut)
				s.whole(s.user(t))
			})
		}
	}
}

func wantRemoteError(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return // the transfer had ended before the cut
	}
	// If a connection is cut in its second request, git says that the password was refused.
	if !errors.Is(err, repo.ErrRemote) && !errors.Is(err, repo.ErrAuth) {
		t.Errorf("error %v, want ErrRemote or ErrAuth", err)
	}
	if strings.Contains(err.Error(), "pw@") {
		t.Errorf("the password is in the message: %v", err)
	}
}

func cutPull(t *testing.T, s scene, cut func() string) {
	t.Helper()
	u := s.user(t)
	gitSays(t, s.ws, "config", "remote.origin.url", cut())
	before := refs(t, s.ws, kept...)
	_, err := merge.Pull(t.Context(), u.s, "origin", nil)
	wantRemoteError(t, err)
	if now := refs(t, s.ws, kept...); err != nil && now != before {
		t.Errorf("a pull that failed changed the refs to\n%s\nfrom\n%s\n%v", now, before, err)
	}
	sound(t, s.ws)
	gitSays(t, s.ws, "config", "remote.origin.url", s.remote)
	_, err = merge.Pull(t.Context(), u.s, "origin", nil)
	u.ok(err)
}

func cutPush(t *testing.T, s scene, cut func() string) {
	t.Helper()
	u := s.user(t)
	gitSays(t, s.ws, "config", "remote.origin.url", cut())
	before := refs(t, s.ws, shared...)
	done, err := u.s.Push(t.Context(), "origin", nil)
	wantRemoteError(t, err)
	if err == nil && strings.Contains(outcome(done), "rejected") {
		t.Errorf("a connection that was cut is reported as a rejected branch: %+v", done)
	}
	if now := refs(t, s.ws, shared...); now != before {
		t.Errorf("a push changed the refs to\n%s\nfrom\n%s\n%v", now, before, err)
	}
	gitSays(t, s.remote, "fsck", "--strict")
}

func cutClone(t *testing.T, s scene, cut func() string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a", "b")
	_, _, err := repo.Clone(t.Context(), cut(), dir, nil)
	wantRemoteError(t, err)
	if err != nil {
		if _, err := os.Lstat(filepath.Dir(dir)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a clone that failed left something: %v", err)
		}
		if _, _, err = repo.Clone(t.Context(), s.remote, dir, nil); err != nil {
			t.Errorf("clone again: %v", err)
		}
	}
	sound(t, dir)
}

// TestPullFullDisk pulls, clones and pushes to a disk that is too small.
func TestPullFullDisk(t *testing.T) {
	made := newScene(t)
	long := clones(t, made.remote)
	long.says("main", babble(testkit.Random(t), 3*babbled)...)
	long.pushes("main fast_forward", repo.PushOptions{})
	big := gitjudge.Bare(t)
	gitSays(t, made.remote, "push", "-q", "--mirror", big)
	t.Run("pull", func(t *testing.T) { pullToFull(t, made, big) })
	t.Run("push", func(t *testing.T) { pushToFull(t, long) })
}

// smallDisk is a disk that is unmounted after the test. Stores may keep files open until they are
// garbage collected.
func smallDisk(t *testing.T, size int) string {
	t.Helper()
	disk := testkit.SmallDisk(t, size)
	t.Cleanup(func() {
		for range 5 {
			runtime.GC()
			testkit.Pause(10 * time.Millisecond)
		}
	})
	return disk
}

func pullToFull(t *testing.T, made scene, remote string) {
	disk := smallDisk(t, 12<<20)
	ws := filepath.Join(disk, "ws")
	if err := os.CopyFS(ws, os.DirFS(made.ws)); err != nil {
		t.Fatal(err)
	}
	gitSays(t, ws, "config", "remote.origin.url", remote)
	u := scene{remote, ws}.user(t)
	makeRoom := fill(t, disk)
	before := refs(t, ws, kept...)
	if _, err := merge.Pull(t.Context(), u.s, "origin", nil); err == nil || errors.Is(err, repo.ErrHostile) {
		t.Errorf("the disk is full: the pull returns %v, want an error that does not blame the remote", err)
	}
	if now := refs(t, ws, kept...); now != before {
		t.Errorf("the pull changed the refs to\n%s\nfrom\n%s", now, before)
	}
	clone := filepath.Join(disk, "clone")
	if _, _, err := repo.Clone(t.Context(), remote, clone, nil); err == nil || errors.Is(err, repo.ErrHostile) {
		t.Errorf("the disk is full: the clone returns %v, want an error that does not blame the remote", err)
	}
	if _, err := os.Lstat(clone); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a clone that failed left something: %v", err)
	}
	makeRoom()
	sound(t, ws)
	_, err := merge.Pull(t.Context(), u.s, "origin", nil)
	u.ok(err)
	sound(t, ws)
}

func pushToFull(t *testing.T, u *user) {
	disk := smallDisk(t, 12<<20)
	full := gitjudge.BareIn(t, filepath.Join(disk, "there.git"))
	gitSays(t, u.s.Dir(), "config", "remote.origin.url", full)
	makeRoom := fill(t, disk)
	before := refs(t, u.s.Dir(), shared...)
	if done, err := u.s.Push(t.Context(), "origin", nil); err == nil {
		t.Errorf("the remote's disk is full: the push returns %+v, want an error", done)
	}
	if now := refs(t, u.s.Dir(), shared...); now != before {
		t.Errorf("the push changed the refs to\n%s\nfrom\n%s", now, before)
	}
	gitSays(t, full, "fsck", "--strict")
	makeRoom()
	if done, err := u.s.Push(t.Context(), "origin", nil); err != nil || outcome(done) != "main new, notes new, third new" {
		t.Errorf("push again: %s, %v", outcome(done), err)
	}
	if here, there := refs(t, u.s.Dir(), shared...), refs(t, full, shared...); here != there {
		t.Errorf("the workspace has\n%s\nand the remote\n%s", here, there)
	}
	gitSays(t, full, "fsck", "--strict")
}

// fill fills a disk up to 128 KiB. The returned function makes room again.
func fill(t *testing.T, disk string) (makeRoom func()) {
	t.Helper()
	const left = 128 << 10
	path := filepath.Join(disk, "ballast")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	var size int64
	for piece := make([]byte, 1<<16); err == nil; {
		var n int
		n, err = f.Write(piece)
		size += int64(n)
	}
	if err := errors.Join(f.Truncate(size-left), f.Close()); err != nil {
		t.Fatal(err)
	}
	return func() { _ = os.Remove(path) }
}

// babbled is the length of one text of babble.
const babbled = 1 << 17

// babble returns size bytes of text, rounded up, that look like words and do not compress.
func babble(rng *rand.Rand, size int) (texts []string) {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ01234567,.+!"
	for ; size > 0; size -= babbled {
		text := make([]byte, babbled)
		for i := range text {
			if text[i] = letters[rng.Uint32()%64]; i%8 == 7 {
				text[i] = ' '
			}
		}
		texts = append(texts, string(text))
	}
	return texts
}

// TestPushTwoAtOnce lets two clones push at the same time, again and again. A rejected push suggests
// what to do, and the next one works after a pull. Nothing is lost.
func TestPushTwoAtOnce(t *testing.T) {
	made := newScene(t)
	users := []*user{made.user(t), clones(t, made.remote)}
	want := map[string]bool{}
	for round := range testkit.Size(2, 100) {
		var wait sync.WaitGroup
		for i, u := range users {
			text := fmt.Sprintf("user %d, round %d", i, round)
			want[text] = true
			wait.Go(func() {
				if _, err := u.tape("main").Append(t.Context(), nil, repo.Message("user", text)); err != nil {
					t.Error(err)
					return
				}
				u.pushUntilAccepted()
			})
		}
		wait.Wait()
	}
	for _, u := range users {
		_, err := merge.Pull(t.Context(), u.s, "origin", nil)
		u.ok(err)
		said := saysOf(u)
		for text := range want {
			if n := count(said, text); n != 1 {
				t.Errorf("%q is there %d times, want once", text, n)
			}
		}
		if here, there := refs(t, u.s.Dir(), shared...), refs(t, made.remote, shared...); here != there {
			t.Errorf("the workspace has\n%s\nand the remote\n%s", here, there)
		}
		sound(t, u.s.Dir())
	}
	gitSays(t, made.remote, "fsck", "--strict")
}

func saysOf(u *user) (said []string) {
	u.Helper()
	for e, err := range u.tape("main").Entries(u.Context(), repo.Query{Kinds: []string{repo.KindMessage}}) {
		u.ok(err)
		said = append(said, messageText(e))
	}
	return said
}

func count(list []string, s string) (n int) {
	for _, x := range list {
		if x == s {
			n++
		}
	}
	return n
}

func (u *user) pushUntilAccepted() {
	for range 20 {
		done, err := u.s.Push(u.Context(), "origin", nil)
		if err != nil {
			u.Error(err)
			return
		}
		i := slices.IndexFunc(done, func(d repo.RefStatus) bool { return d.Status == repo.RefRejected })
		if i < 0 {
			return
		}
		if !errors.Is(done[i].Err, repo.ErrConflict) || len(repo.Hints(done[i].Err)) == 0 {
			u.Errorf("rejected with %v, want an ErrConflict with a hint", done[i].Err)
		}
		if _, err := merge.Pull(u.Context(), u.s, "origin", nil); err != nil {
			u.Error(err)
			return
		}
	}
	u.Error("the push is still rejected after 20 tries")
}

// TestSoakPullKill kills processes that pull and push at random moments, beside one that appends.
// Acknowledged entries are there once, and the next pull and push work.
func TestSoakPullKill(t *testing.T) {
	rng := testkit.Random(t)
	made := newScene(t)
	here, other := made.user(t), clones(t, made.remote)
	var acked []string
	for round := range testkit.Size(1, 60) {
		text := fmt.Sprintf("other %d", round)
		acked = append(acked, text)
		other.says("main", text)
		other.pushUntilAccepted()
		var working []*process
		for _, mode := range []string{"append", "pull", "push"} {
			working = append(working, helper(t, made.ws, mode))
		}
		testkit.Pause(time.Duration(20+rng.ExpFloat64()*150) * time.Millisecond)
		for i := range working {
			acked = append(acked, onlyAppends(working[(i+1)%len(working)].kill(t))...)
		}
		sound(t, made.ws)
		here.pullAndPush()
		said := saysOf(here)
		for _, text := range acked {
			if n := count(said, text); n != 1 {
				t.Errorf("round %d: %q is there %d times, want once", round, text, n)
			}
		}
		if t.Failed() {
			return
		}
	}
	gitSays(t, made.remote, "fsck", "--strict")
	t.Logf("%d entries", len(acked))
}

// pullAndPush pulls, then pushes. The pull waits until a git process that a killed process started has
// ended.
func (u *user) pullAndPush() {
	u.Helper()
	_, err := merge.Pull(u.Context(), u.s, "origin", nil)
	u.ok(err)
	u.pushUntilAccepted()
}

func onlyAppends(said []string) []string {
	return slices.DeleteFunc(said, func(s string) bool { return !strings.HasPrefix(s, "append ") })
}
