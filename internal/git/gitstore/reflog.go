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
	"tape/internal/git/gitlock"
	"tape/internal/git/gitobject"
)

// ReflogEntry is one line of a reflog.
type ReflogEntry struct {
	Old, New Hash // zero: the ref did not exist
	Who      Signature
	Message  string
}

// Reflog returns the log of a ref, or of HEAD, oldest entry first; nothing if there is no log. Damaged
// lines are skipped, as git does.
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

// parseReflog parses `<old> <new> <name> <mail> <seconds> <zone> TAB <message> LF`.
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

// logUpdate writes the reflog lines of an update: for the ref, and for the HEAD, of the main or of a
// linked worktree, that names it. The ref's lock must be held.
//
// They are not synced: like git's own they are for information. As with git, a crash right after can
// leave a line for a change that did not happen.
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

// LogRef adds lines to the reflog of a ref without moving the ref. So the log can mention objects that
// the ref never named, and git keeps them for as long as it keeps reflogs. The lines must lead from the
// ref's value back to the same value; a zero Old in the first, or a zero New in the last, stands for it.
// Who may be zero, as in [RefUpdate].
//
// The lines are durable when it returns. Errors: ErrNotFound if the ref does not exist; ErrConflict if
// the lines do not begin and end with its value; ErrBusy.
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
		return err // before the lock creates folders for a missing ref
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

// LostRefs returns the names of the refs with a prefix, which ends in a slash, that have a log and no value. refs are those
// that exist. Whoever deletes a ref deletes its log first, so those were lost. Where the log has only the first value, begun
// has the name: the ref may also be one whose creation was cut off, because a new ref gets its log before its value.
func (r *Repo) LostRefs(prefix string, refs []Ref) (lost, begun []string) {
	has := make(map[string]bool, len(refs))
	for _, ref := range refs {
		has[ref.Name] = true
	}
	for _, name := range r.logged(prefix) {
		if has[name] {
			continue
		}
		switch r.ValuesOfLost(name) {
		case 0:
		case 1:
			begun = append(begun, name)
		default:
			lost = append(lost, name)
		}
	}
	return lost, begun
}

// ValuesOfLost returns how many values the log of a ref has that has none itself; 0 if it has one, or is being made.
func (r *Repo) ValuesOfLost(name string) int {
	isFile := func(path string) bool {
		st, err := os.Lstat(path)
		return err == nil && st.Mode().IsRegular()
	}
	if !isFile(r.logPath(name)) {
		return 0
	}
	for _, lock := range []string{r.RefPath(name) + ".lock", r.packedPath() + ".lock"} {
		if isFile(lock) && !gitlock.IsDead(lock) {
			return 0
		}
	}
	if _, _, err := r.readRef(name); !errors.Is(err, ErrNotFound) || !isFile(r.logPath(name)) {
		return 0
	}
	log, _ := r.Reflog(name)
	return len(log)
}

// logged returns the names of the refs with a prefix that have a log.
func (r *Repo) logged(prefix string) (names []string) {
	root := r.logPath(strings.TrimSuffix(prefix, "/"))
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && path != root {
			if name := prefix + filepath.ToSlash(path[len(root)+1:]); CheckRefName(name) == nil {
				names = append(names, name)
			}
		}
		return nil
	})
	return names
}

// syncFile makes a file that was written through another handle durable, with its name.
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

// logHeads adds a line to the logs of HEADs that name the ref. It looks at all worktrees only if neither
// the main one nor the one in the branch's usual admin folder has the branch.
func (r *Repo) logHeads(name string, line []byte) error {
	if !strings.HasPrefix(name, "refs/heads/") {
		return nil // HEAD names branches only
	}
	notHere := func(dir string) bool {
		_, target, err := readHead(dir)
		return err != nil || target != name
	}
	dirs := slices.DeleteFunc([]string{r.gitDir, filepath.Join(r.WorktreesDir(), WorktreeID(name))}, notHere)
	if len(dirs) == 0 {
		admins, _ := r.AdminsOf(name) // a damaged HEAD of another worktree does not matter here
		dirs = slices.DeleteFunc(slices.Clone(admins), notHere)
	}
	for _, dir := range dirs {
		if err := r.appendReflog(filepath.Join(dir, "logs", "HEAD"), line, true); err != nil {
			return err
		}
	}
	return nil
}

// isLogged reports whether a ref gets a log: branches, remote-tracking branches, and archives. Tags get none,
// as in git. Our other refs mirror a remote, or are short-lived notes.
func isLogged(name string) bool {
	logged := []string{"refs/heads/", "refs/remotes/", "refs/tape/archive/"}
	return slices.ContainsFunc(logged, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

func (r *Repo) reflogLine(u RefUpdate) ([]byte, error) {
	who := u.Who
	if who.Name == "" || who.Email == "" {
		committer := r.config.Committer(time.Now())
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

// appendReflog adds lines to a log in a single write. With create it creates a missing log, otherwise
// it skips it.
func (r *Repo) appendReflog(path string, line []byte, create bool) (err error) {
	if err := r.checkFolders(path); err != nil {
		return err
	}
	f, err := r.fs.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil && NoFileAt(path) {
		if !create {
			return nil
		}
		if f, err = r.createReflog(path); err != nil {
			return fmt.Errorf("create reflog: %w", err)
		}
	}
	if err != nil {
		return fmt.Errorf("write reflog: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	// A last line that a crash cut short must not swallow ours.
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

// NoFileAt reports whether nothing, or only a folder, is at path. A file can be created there once empty folders
// are removed.
func NoFileAt(path string) bool {
	st, err := os.Stat(path)
	return err != nil && IsAbsent(err) || err == nil && st.IsDir()
}

// createReflog creates a log. It retries, because git may be removing the empty folder.
func (r *Repo) createReflog(path string) (f *disk.File, err error) {
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
