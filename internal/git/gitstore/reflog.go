package gitstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tape/internal/git/disk"
	"tape/internal/git/gitconfig"
	"tape/internal/git/gitobject"
)

// ReflogEntry is one line of a reflog.
type ReflogEntry struct {
	Old, New Hash // zero: the ref did not exist before, or does not after
	Who      Signature
	Message  string
}

// Reflog returns what happened to a ref, or to HEAD, oldest first. No log gives no
// entries. Damaged lines are passed over, as git does.
func (r *Repo) Reflog(name string) ([]ReflogEntry, error) {
	if name != "HEAD" {
		if err := CheckRefName(name); err != nil {
			return nil, err
		}
	}
	raw, err := os.ReadFile(r.logPath(name))
	if err != nil {
		if NoFileAt(r.logPath(name)) {
			return nil, nil
		}
		return nil, fmt.Errorf("read reflog of %s: %w", name, err)
	}
	var out []ReflogEntry
	for line := range bytes.Lines(raw) {
		if e, ok := parseReflog(string(line)); ok {
			out = append(out, e)
		}
	}
	return out, nil
}

// parseReflog reads `<old> <new> <name> <mail> <seconds> <zone> TAB <message> LF`.
func parseReflog(line string) (e ReflogEntry, ok bool) {
	line, ended := strings.CutSuffix(line, "\n")
	head, message, _ := strings.Cut(line, "\t")
	const digits = 2 * len(e.Old)
	if !ended || len(head) < 2*digits+2 || head[digits] != ' ' || head[2*digits+1] != ' ' {
		return e, false
	}
	var errs [3]error
	e.Old, errs[0] = ParseHash(head[:digits])
	e.New, errs[1] = ParseHash(head[digits+1 : 2*digits+1])
	e.Who, errs[2] = gitobject.DecodeSignature(head[2*digits+2:])
	e.Message = message
	return e, errors.Join(errs[:]...) == nil
}

func (r *Repo) logPath(name string) string {
	return filepath.Join(r.gitDir, "logs", filepath.FromSlash(name))
}

// logUpdate writes the reflog lines of an update, whose lock is held: for the ref, and
// for each HEAD that names it, of the main and of every linked worktree.
//
// They are not synced: like git's own they say what happened, and nothing rests on
// them. As with git, a crash right after leaves a line for a change that did not happen.
func (r *Repo) logUpdate(u RefUpdate) error {
	line, err := r.reflogLine(u)
	if err != nil {
		return err
	}
	if err := r.appendReflog(r.logPath(u.Name), line, isLogged(u.Name)); err != nil {
		return err
	}
	return r.logHeads(u.Name, line)
}

// LogRef adds lines to the reflog of a ref and does not move the ref: so the log can tell
// of, and keep for as long as git keeps reflogs, objects that the ref never named. The
// lines lead from what the ref holds back to what it holds; a zero Old of the first and
// a zero New of the last stand for that. Who may be zero, as in [RefUpdate].
//
// The lines are durable when it returns. Errors: ErrNotFound without such a ref;
// ErrConflict when it holds something else than the lines say; ErrBusy.
func (r *Repo) LogRef(ctx context.Context, name string, entries ...ReflogEntry) error {
	if err := CheckRefName(name); err != nil {
		return err
	}
	if len(entries) == 0 {
		return nil
	}
	err := r.locks.Guarded(ctx, r.refGuard(), func() error { return r.logGuarded(name, slices.Clone(entries)) })
	return Wrap(err, "write to the reflog of %s", name)
}

func (r *Repo) logGuarded(name string, entries []ReflogEntry) (err error) {
	if _, _, err := r.readRef(name); err != nil {
		return err // before a lock makes folders for a ref that is not there
	}
	l, err := r.locks.Lock(r.RefPath(name))
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, l.Release())
		r.removeEmptyParents(name) // the ref may be packed
	}()
	current, target, err := r.readRef(name)
	if err != nil {
		return err
	}
	if target != "" {
		return fmt.Errorf("it is a symbolic ref to %s", target)
	}
	first, last := &entries[0].Old, &entries[len(entries)-1].New
	for _, end := range []*Hash{first, last} {
		if end.IsZero() {
			*end = current
		}
		if *end != current {
			return fmt.Errorf("%w: it holds %s, not %s", ErrConflict, current, *end)
		}
	}
	var lines []byte
	for _, e := range entries {
		line, err := r.reflogLine(RefUpdate{Name: name, Old: e.Old, New: e.New, Who: e.Who, Message: e.Message})
		if err != nil {
			return err
		}
		lines = append(lines, line...)
	}
	path := r.logPath(name)
	if err := r.appendReflog(path, lines, true); err != nil {
		return err
	}
	return r.syncFile(path)
}

// syncFile makes a file that was written through another handle durable, and its name.
func (r *Repo) syncFile(path string) (err error) {
	f, err := r.fs.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return r.fs.SyncDir(filepath.Dir(path))
}

// logDeletion removes the ref's log, durably, and tells the HEADs.
func (r *Repo) logDeletion(u RefUpdate) error {
	line, err := r.reflogLine(u)
	if err != nil {
		return err
	}
	if err := r.logHeads(u.Name, line); err != nil {
		return err
	}
	path := r.logPath(u.Name)
	if st, err := os.Lstat(path); err != nil || st.IsDir() {
		return nil
	}
	if err := r.fs.Remove(path); err != nil {
		return err
	}
	if err := r.fs.SyncDir(filepath.Dir(path)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil // git has just removed the empty folder
}

func (r *Repo) logHeads(name string, line []byte) error {
	if !strings.HasPrefix(name, "refs/heads/") {
		return nil // no HEAD names it
	}
	for _, dir := range r.HeadDirs() {
		if _, target, err := readHead(dir); err != nil || target != name {
			continue
		}
		if err := r.appendReflog(filepath.Join(dir, "logs", "HEAD"), line, true); err != nil {
			return err
		}
	}
	return nil
}

// isLogged says for which refs a log is begun. It is what core.logAllRefUpdates=true
// means to git, and archives. Other refs of ours mirror a remote, or are notes that go soon.
func isLogged(name string) bool {
	logged := []string{"refs/heads/", "refs/remotes/", "refs/tape/archive/"}
	return slices.ContainsFunc(logged, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

func (r *Repo) reflogLine(u RefUpdate) ([]byte, error) {
	who := u.Who
	if who.Name == "" || who.Email == "" {
		_, committer, err := r.Identity(time.Now())
		if err != nil {
			return nil, err
		}
		who.Name, who.Email = committer.Name, committer.Email
	}
	if who.When.IsZero() {
		who.When = time.Now()
	}
	who.Name, who.Email = gitconfig.CleanIdentity(who.Name), gitconfig.CleanIdentity(who.Email)
	line := fmt.Appendf(nil, "%s %s %s", u.Old, u.New, gitobject.EncodeSignature(who))
	if message := strings.Join(strings.Fields(u.Message), " "); message != "" {
		line = fmt.Appendf(line, "\t%s", message)
	}
	return append(line, '\n'), nil
}

// appendReflog adds lines to a log in a single write. A log that does not exist is
// begun only if create says so.
func (r *Repo) appendReflog(path string, line []byte, create bool) (err error) {
	if err := r.checkFolders(path); err != nil {
		return err
	}
	f, err := r.fs.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil && NoFileAt(path) {
		if !create {
			return nil
		}
		if f, err = r.beginReflog(path); err != nil {
			return fmt.Errorf("begin reflog: %w", err)
		}
	}
	if err != nil {
		return fmt.Errorf("write reflog: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	// A line cut short by a crash must not swallow ours.
	var last [1]byte
	if st, err := f.Stat(); err == nil && st.Size() > 0 {
		if _, err := f.ReadAt(last[:], st.Size()-1); err == nil && last[0] != '\n' {
			line = append([]byte{'\n'}, line...)
		}
	}
	if _, err := f.Write(line); err != nil {
		return fmt.Errorf("write reflog: %w", err)
	}
	return nil
}

// NoFileAt reports that path is free for a file, once empty folders are cleared away.
func NoFileAt(path string) bool {
	st, err := os.Stat(path)
	return err != nil && IsAbsent(err) || err == nil && st.IsDir()
}

// beginReflog creates a log, again if git has just removed the empty folder for it.
func (r *Repo) beginReflog(path string) (f *disk.File, err error) {
	for range 10 {
		if err = r.clearEmptyDir(path); err != nil {
			return nil, err
		}
		if err = r.fs.MkdirAll(filepath.Dir(path)); err == nil {
			f, err = r.fs.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, disk.FilePerm)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return f, err
}
