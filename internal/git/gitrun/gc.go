// Package gitrun runs the git program on a repository: gc and repack here, and commands for other
// rooms. It removes what a git that was stopped or killed has left.
package gitrun

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tape/internal/git/gitlock"
	"tape/internal/git/gitstore"
)

// How git packs a store. A tape is thousands of versions of files that share a few names and grow.
// With git's window of 10, versions of other tapes' files hide the one that a file grew from, and
// packs become three times as large as necessary. Where histories are short, as after an import, a
// larger window takes time and finds nothing.
const (
	leastWindow = 10  // as git gc
	packWindow  = 250 // as git gc --aggressive
	packDepth   = 50
	packMemory  = "256m" // per thread: a large window of large files
	gcGrace     = "2.weeks.ago"
	gcSlack     = 10 // percent of the packs' size that may come from others before it is packed again
)

// GC packs the objects of a repository with git gc, while readers and writers go on. Objects that
// no ref, reflog or index leads to are kept for at least two weeks, because an object is written
// before the ref that will name it. prune, unless "", is a date in the format of git gc --prune:
// then such objects are deleted if they are older than that. GC packs refs and expires reflogs
// itself, so that git gc takes no lock on a ref that it could leave behind when it is killed.
//
// Errors: ErrNoGit; ErrBusy when another gc runs; those of [Command]; the context's error, after
// temporary files are removed.
func GC(ctx context.Context, r *gitstore.Repo, prune string) error {
	err := r.Locks().GuardedOnce(ctx, guard(r), r.Locks().Wait, func() error {
		if err := Runnable(ctx, r); err != nil {
			return err
		}
		if err := prepare(ctx, r); err != nil {
			return err
		}
		return gitGC(ctx, r, prune)
	})
	return gitstore.Wrap(err, "git gc of %s", r.GitDir())
}

// guard is the lock that must be held to run gc.
func guard(r *gitstore.Repo) string { return filepath.Join(r.GitDir(), gitlock.OwnDir, "gc.lock") }

// ObjectsDir returns the folder of a repository's objects.
func ObjectsDir(r *gitstore.Repo) string { return filepath.Join(r.GitDir(), "objects") }

// eachObjectFile calls fn for all files under objects, and skips those that vanish meanwhile.
func eachObjectFile(r *gitstore.Repo, fn func(path string, st fs.FileInfo)) error {
	return filepath.WalkDir(ObjectsDir(r), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
		if st, err := d.Info(); err == nil && st.Mode().IsRegular() {
			fn(path, st)
		}
		return nil
	})
}

// gitGC runs git gc. Git reuses the deltas that it finds in packs, so what a server or a plain git
// gc has packed badly would stay large: if there is much of that, all deltas are computed again,
// which takes longer. With prune somebody waits for the deletion, so that is left to the next gc.
func gitGC(ctx context.Context, r *gitstore.Repo, prune string) error {
	args := []string{"-c", "gc.packRefs=false", "-c", "gc.reflogExpire=never", "-c", "gc.reflogExpireUnreachable=never"}
	if prune == "" {
		window, err := windowFor(ctx, r)
		if err != nil {
			return err
		}
		args = append(args, "-c", fmt.Sprintf("pack.window=%d", window), "-c", fmt.Sprintf("pack.depth=%d", packDepth),
			"-c", "pack.windowMemory="+packMemory, "-c", fmt.Sprintf("gc.aggressiveWindow=%d", window),
			"-c", fmt.Sprintf("gc.aggressiveDepth=%d", packDepth), "-c", "repack.updateServerInfo=false")
	}
	if !hasCommitGraph(r) { // git would write one, and small repositories would grow
		args = append(args, "-c", "gc.writeCommitGraph=false")
	}
	args = append(args, "gc", "--quiet")
	if v, _ := r.Config().Value("gc", "", "pruneExpire"); prune != "" {
		args = append(args, "--prune="+prune)
	} else if v != "never" && v != "false" {
		args = append(args, "--prune="+gcGrace)
	}
	if prune == "" && foreignPacks(r) {
		args = append(args, "--aggressive")
	}
	started := time.Now()
	cmd, err := Command(ctx, r, args...)
	if err != nil {
		return err
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.WaitDelay = 10 * time.Second
	KillWithChildren(cmd)
	err = cmd.Start()
	if err == nil {
		if prune == "" { // with this note writers do not wait for it
			_ = r.FS().WriteFile(gitlock.OwnGC(r.GitDir()), []byte(strconv.Itoa(cmd.Process.Pid)))
		}
		err = cmd.Wait()
		_ = r.FS().Remove(gitlock.OwnGC(r.GitDir()))
	}
	if errors.Is(err, exec.ErrNotFound) {
		return ErrNoGit
	}
	if ctx.Err() != nil {
		return errors.Join(ctx.Err(), Sweep(r, started), sweepGCPid(r, cmd.Process))
	}
	if err != nil {
		said := strings.TrimSpace(stderr.String())
		if strings.Contains(said, "gc is already running") {
			return fmt.Errorf("%w: %s", gitstore.ErrBusy, said)
		}
		if held := LockNamedIn(r, said); held != nil {
			return held.Busy()
		}
		if SaysDamaged(r, said) {
			err = ErrDamaged
		}
		return fmt.Errorf("%w: %.500s", err, said)
	}
	if prune != "" {
		return nil
	}
	return notePacks(r)
}

// windowFor returns how many objects git compares with each object: as many as the longest history
// has commits, within leastWindow and packWindow. After very many commits it counts no further, and
// returns packWindow.
func windowFor(ctx context.Context, r *gitstore.Repo) (int, error) {
	refs, _, err := r.ReadableRefs("refs/heads/") // git gc will report the others
	if err != nil {
		return 0, err
	}
	const most = 100 * packWindow // commits, of all branches
	seen, window := map[gitstore.Hash]bool{}, leastWindow
	for _, ref := range refs {
		n := 0
		for h := ref.Hash; n < packWindow && len(seen) < most && !seen[h]; n++ {
			if err := ctx.Err(); err != nil {
				return 0, err
			}
			c, err := r.Commit(h)
			if err != nil || len(c.Parents) == 0 {
				break // git gc will report what is wrong
			}
			seen[h], h = true, c.Parents[0]
		}
		if window = max(window, n); window >= packWindow || len(seen) >= most {
			return packWindow, nil
		}
	}
	return window, nil
}

// hasCommitGraph reports whether git keeps a commit graph, which then has to be kept up to date.
func hasCommitGraph(r *gitstore.Repo) bool {
	for _, name := range []string{"commit-graph", "commit-graphs"} {
		if _, err := os.Lstat(filepath.Join(ObjectsDir(r), "info", name)); err == nil {
			return true
		}
	}
	return false
}

// prepare does the steps of git gc that need git's locks.
func prepare(ctx context.Context, r *gitstore.Repo) error {
	if err := sweepGC(r); err != nil {
		return err
	}
	if err := r.PackRefs(ctx); err != nil {
		return err
	}
	return expireReflogs(ctx, r)
}

// reflogAge is how long git keeps entries of reflogs by default.
const reflogAge = 90 * 24 * time.Hour

// expireReflogs drops old lines of reflogs, as gc.reflogExpire says; gc.reflogExpireUnreachable is
// ignored. If there are such settings for single refs, it drops nothing.
func expireReflogs(ctx context.Context, r *gitstore.Repo) error {
	entries, _ := r.Config().Load()
	for _, e := range entries {
		if e.Section == "gc" && e.Subsection != "" && strings.HasPrefix(e.Key, "reflogexpire") {
			return nil
		}
	}
	before := time.Now().Add(-reflogAge)
	if v, _ := r.Config().Value("gc", "", "reflogExpire"); v != "" {
		cmd, err := Command(ctx, r, "-c", "gc.reflogExpire="+v, "config", "--type=expiry-date", "gc.reflogExpire")
		if err != nil {
			return err
		}
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("read gc.reflogExpire: %w", err)
		}
		seconds, _ := strconv.ParseUint(strings.TrimSpace(string(out)), 10, 64)
		if seconds == 0 {
			return nil // never
		}
		before = time.Unix(int64(min(seconds, 1<<40)), 0)
	}
	return r.ExpireReflogs(ctx, before)
}

// Environment returns our environment without the variables that tie git to another repository,
// as those in a hook do, and with messages in English.
func Environment() []string {
	tied := []string{
		"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH",
		"GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_PREFIX", "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE", "GIT_REFLOG_ACTION", "LC_ALL",
	}
	env := slices.DeleteFunc(os.Environ(), func(e string) bool {
		key, _, _ := strings.Cut(e, "=")
		return slices.Contains(tied, key) || strings.HasPrefix(key, "GITHEAD_")
	})
	return append(env, "LC_ALL=C")
}

// packsNote is the file that names the packs that GC made.
func packsNote(r *gitstore.Repo) string { return filepath.Join(r.GitDir(), gitlock.OwnDir, "packs") }

// packNames returns the sizes of the packs in bytes, by file name.
func packNames(r *gitstore.Repo) map[string]int64 {
	packs := map[string]int64{}
	entries, _ := os.ReadDir(filepath.Join(ObjectsDir(r), "pack"))
	for _, e := range entries {
		if st, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), ".pack") {
			packs[e.Name()] = st.Size()
		}
	}
	return packs
}

// foreignPacks reports whether more than gcSlack percent of what is packed was not packed by GC.
func foreignPacks(r *gitstore.Repo) bool {
	note, _ := os.ReadFile(packsNote(r))
	ours := strings.Fields(string(note))
	var all, foreign int64
	for name, size := range packNames(r) {
		all += size
		if !slices.Contains(ours, name) {
			foreign += size
		}
	}
	return foreign*100 > all*gcSlack
}

func notePacks(r *gitstore.Repo) error {
	var names []string
	for name := range packNames(r) {
		names = append(names, name)
	}
	slices.Sort(names)
	return r.FS().WriteFile(packsNote(r), []byte(strings.Join(names, "\n")+"\n"))
}

// eachTemporary calls fn for git's temporary files under objects.
func eachTemporary(r *gitstore.Repo, fn func(path string, st fs.FileInfo)) error {
	return eachObjectFile(r, func(path string, st fs.FileInfo) {
		if name := filepath.Base(path); strings.HasPrefix(name, "tmp_") || strings.HasPrefix(name, ".tmp-") {
			fn(path, st)
		}
	})
}

// Sweep removes the temporary files and empty locks of a git that started at a given time and was
// stopped; git itself leaves them to a later gc. It keeps files that are older, still grow, or
// that somebody has open.
func Sweep(r *gitstore.Repo, started time.Time) error {
	const quiet = 200 * time.Millisecond
	started = started.Add(-10 * time.Millisecond) // clocks of file systems are coarse
	found := map[string]fs.FileInfo{}
	note := func(path string, st fs.FileInfo) {
		if !st.ModTime().Before(started) {
			found[path] = st
		}
	}
	if err := errors.Join(eachTemporary(r, note), eachEmptyLock(r, note)); err != nil || len(found) == 0 {
		return err
	}
	time.Sleep(quiet)
	return RemoveStale(r, found, gitlock.OpenFiles())
}

// eachEmptyLock calls fn for the locks that a git has created and not yet written to. A git leaves
// such a lock behind only if it is asked to end at that moment: later it removes its locks, and a
// living git has the file open until it has written to it. So an empty lock that nobody has open
// belongs to nobody. Where the system does not tell which files are open, fn is not called.
func eachEmptyLock(r *gitstore.Repo, fn func(path string, st fs.FileInfo)) error {
	if len(gitlock.OpenFiles()) == 0 {
		return nil
	}
	empty := func(path string, st fs.FileInfo) {
		if st.Mode().IsRegular() && st.Mode().Perm() != gitlock.Perm && st.Size() == 0 {
			fn(path, st)
		}
	}
	return eachLock(r, empty)
}

// sweepGCPid removes gc.pid if it names the git gc that was stopped. A git gc removes the file when
// it is asked to end, except in its first moment, and a stale gc.pid blocks gc for half a day.
func sweepGCPid(r *gitstore.Repo, p *os.Process) error {
	path := filepath.Join(r.GitDir(), gitlock.GCPid)
	note, err := os.ReadFile(path)
	if err != nil {
		return nil //nolint:nilerr // it was removed, or never written
	}
	if pid, _, _ := strings.Cut(string(note), " "); p == nil || pid != strconv.Itoa(p.Pid) {
		return nil
	}
	return r.FS().Remove(path)
}
