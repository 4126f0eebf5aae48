package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// watch finds what confined commands did to repositories, and undoes it: they can make one anywhere in the project, and
// break one so that git takes another folder for it. The git that the user runs next would run what its configuration
// and its hooks name. Nothing is deleted: what a command left is renamed.
type watch struct {
	home, project    string   // the user's home, and the folder in which people call git
	projects, others []string // folders that commands may write: that of the project and its repository, and those for temporary files and caches
	shared           string   // a folder in which commands may make files beside those of other programs; "" if there is none

	mu       sync.Mutex
	running  int
	settling bool // check looks, not begin
	folders  map[string]folder
	known    map[string]repository // what there was before the commands that run now, by the folder with HEAD
	left     map[string]bool       // repositories that could not be put right
	foreign  []string              // the user's sockets in what commands may write that were there before the commands
	told     bool                  // that there are more folders than are watched
}

// aside is added to the name of what a command left and what would make git run something.
const aside = ".from-command"

// begin is called before a command. What there is now is the user's, unless another command runs.
func (w *watch) begin(others []string, shared string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running++; w.running > 1 {
		return
	}
	w.others, w.shared, w.foreign = others, shared, userSockets(w.home, w.project)
	f := w.look()
	known := map[string]repository{}
	for _, git := range f.git {
		if old, ok := w.known[git]; w.left[git] && ok {
			known[git] = old
		} else if !w.left[git] {
			known[git] = w.readWith(git, f.pointers[git])
		}
	}
	w.known = known
}

// readWith returns what decides about a repository, with the files that lead to it.
func (w *watch) readWith(git string, pointers []string) repository {
	r := w.read(git)
	for _, path := range pointers {
		r.add(path)
	}
	return r
}

// check undoes what commands did. The error says what that was, or what could not be undone.
func (w *watch) check(ended bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if ended {
		w.running--
	}
	w.left, w.settling = map[string]bool{}, true
	f := w.look()
	w.settling = false
	var said []string
	for _, git := range slices.Sorted(maps.Keys(w.known)) {
		words, err := w.putBack(git)
		if err != nil {
			w.left[git] = true
			words = fmt.Sprintf("a command changed the repository %s, and this could not be undone: %v; look at it before you call git there", git, err)
		}
		said = append(said, words)
	}
	for _, git := range f.git {
		if _, ok := w.known[git]; ok {
			continue
		}
		words, err := w.disable(git, f.pointers[git])
		if err != nil {
			w.left[git] = true
			words = fmt.Sprintf("a command made the repository %s, in which git runs programs, and this could not be undone: %v; do not call git there", git, err)
		}
		said = append(said, words)
	}
	if f.more && !w.told {
		w.told = true
		said = append(said, fmt.Sprintf("the project has more than %d folders; in the others, it is not noticed when a command makes a repository", maxFolders))
	}
	if said = slices.DeleteFunc(said, func(s string) bool { return s == "" }); len(said) == 0 {
		return nil
	}
	return errors.New(strings.Join(said, "\n"))
}

// putBack makes a repository what it was. words say what had to be done; "" if nothing.
func (w *watch) putBack(git string) (words string, err error) {
	before := w.known[git]
	if info, err := os.Lstat(git); err != nil || !info.IsDir() {
		return w.bringBack(git, before)
	}
	var done []string
	if before.valid && (!valid(git) || !w.open(git)) {
		lost, err := w.mend(git, before)
		if err != nil {
			return "", err
		}
		done = append(done, "so that git would not have taken it for one any more"+lost)
	}
	now := w.readWith(git, nil)
	for path := range before.parts {
		now.add(path)
	}
	if changed := difference(before, now); !slices.Equal(before.runs, now.runs) || before.parts[filepath.Join(git, commonDir)] != now.parts[filepath.Join(git, commonDir)] || w.misled(before, now) {
		paths := slices.Sorted(maps.Keys(now.parts))
		for _, path := range paths {
			if filepath.Base(path) == headFile && filepath.Dir(path) == git || w.isPointer(path) && now.parts[path].mode == 0 && filepath.Dir(path) != w.project {
				continue
			}
			if err := w.putPart(path, before.parts[path]); err != nil {
				return "", err
			}
		}
		if now = w.read(git); !slices.Equal(before.runs, now.runs) {
			return "", fmt.Errorf("git still runs something else there (%s)", strings.Join(difference(before, now), ", "))
		}
		done = append(done, "and what git runs there ("+strings.Join(changed, ", ")+")")
	}
	if len(done) == 0 {
		return "", nil
	}
	return fmt.Sprintf("a command changed the repository %s, %s: this was undone, and what the command left has %s in its name", git, strings.Join(done, ", "), aside), nil
}

// isPointer reports whether a path is a file or a link that leads to a repository.
func (w *watch) isPointer(path string) bool { return filepath.Base(path) == dotGit }

// misled reports whether a file that leads to a repository leads elsewhere.
func (w *watch) misled(before, now repository) bool {
	for path, p := range before.parts {
		if w.isPointer(path) && p != now.parts[path] && (now.parts[path].mode != 0 || filepath.Dir(path) == w.project) {
			return true
		}
	}
	return false
}

// open reports whether git may enter a repository's folders.
func (w *watch) open(git string) bool {
	for _, path := range []string{git, filepath.Join(commonOf(git), "objects"), filepath.Join(commonOf(git), "refs")} {
		if info, err := os.Stat(path); err != nil || info.Mode()&0o500 != 0o500 {
			return false
		}
	}
	info, err := os.Stat(filepath.Join(git, headFile))
	return err != nil || info.Mode()&0o400 != 0
}

// mend makes a folder a repository again. lost says what is gone.
func (w *watch) mend(git string, before repository) (lost string, err error) {
	if err := w.enter(git, 0o700); err != nil {
		return "", err
	}
	common := filepath.Join(git, commonDir)
	if err := w.putPart(common, before.parts[common]); err != nil {
		return "", err
	}
	for i, name := range stores {
		path := filepath.Join(commonOf(git), name)
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			if err := w.enter(path, 0o700); err != nil {
				return "", err
			}
			continue
		}
		from, err := w.moveBack(path, before.stores[i])
		if err == nil && from == "" {
			lost += fmt.Sprintf(" (its %s are gone)", name)
			err = w.putPart(path, part{mode: fs.ModeDir | 0o755})
		}
		if err != nil {
			return "", err
		}
	}
	head := filepath.Join(git, headFile)
	if err := w.enter(head, 0o600); err != nil || validHead(head) {
		return lost, err
	}
	return lost, w.putPart(head, before.parts[head])
}

// enter gives the user back rights to a file or folder.
func (w *watch) enter(path string, rights fs.FileMode) error {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink != 0 || info.Mode().Perm()&rights == rights {
		return nil
	}
	return w.at(path, func(root *os.Root, name string) error { return root.Chmod(name, info.Mode().Perm()|rights) })
}

// bringBack looks for a repository that is not in its place any more. Those below the project may go.
func (w *watch) bringBack(git string, before repository) (words string, err error) {
	if filepath.Dir(git) != w.project {
		return "", nil
	}
	from, err := w.moveBack(git, before.id)
	switch {
	case err != nil:
		return "", err
	case from == "":
		return "a command removed the repository " + git, nil
	}
	return fmt.Sprintf("a command moved the repository %s to %s: it is in its place again", git, from), nil
}

// moveBack puts a folder back where it was, and returns where it has been; "" if it is gone.
func (w *watch) moveBack(path string, id identity) (from string, err error) {
	if err := w.setAside(path); err != nil {
		return "", err
	}
	for dir, has := range w.folders {
		if id.ino == 0 || has.id.ino != id.ino || has.id.dev != id.dev {
			continue
		}
		return dir, w.at(dir, func(root *os.Root, name string) error {
			to, err := filepath.Rel(root.Name(), path)
			if err != nil {
				return err
			}
			return root.Rename(name, to)
		})
	}
	return "", nil
}

// disable takes HEAD from a repository that a command made and in which git would run something. What leads to one among
// the files of other programs is renamed instead.
func (w *watch) disable(git string, pointers []string) (words string, err error) {
	if _, err := os.Lstat(git); err != nil {
		return "", nil // it was moved back
	}
	now := w.read(git)
	if len(now.runs) == 0 {
		return "", nil
	}
	// It may be a copy of one of the user's, or have been moved.
	for _, r := range w.known {
		if !slices.ContainsFunc(now.runs, func(text string) bool { return !slices.Contains(r.runs, text) }) {
			return "", nil
		}
	}
	if !w.writes(git) {
		for _, path := range pointers {
			if err := w.setAside(path); err != nil {
				return "", err
			}
		}
		return fmt.Sprintf("a command made %s lead to %s, where git would run programs: this now has %s in its name", strings.Join(pointers, ", "), git, aside), nil
	}
	if err := w.enter(git, 0o700); err != nil {
		return "", err
	}
	if err := w.setAside(filepath.Join(git, headFile)); err != nil {
		return "", err
	}
	return fmt.Sprintf("a command made the repository %s, in which git would run programs (%s): its HEAD is now called %s, so that git does not take it for a repository; look at it, and rename the file if you want it",
		git, strings.Join(difference(repository{}, now), ", "), headFile+aside), nil
}

// difference names the settings and hooks that one of two states has and the other has not.
func difference(a, b repository) (out []string) {
	for _, text := range slices.Concat(a.runs, b.runs) {
		if slices.Contains(a.runs, text) && slices.Contains(b.runs, text) {
			continue
		}
		name, _, setting := strings.Cut(text, " = ")
		if words := strings.Fields(text); !setting {
			name = strings.Join(words[:min(2, len(words))], " ")
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	if len(out) == 0 {
		return []string{"where it is"}
	}
	return out[:min(5, len(out))]
}

// putPart makes a path what it was. What is there otherwise is renamed.
func (w *watch) putPart(path string, before part) error {
	var r repository
	r.parts = map[string]part{}
	now := r.add(path)
	same := now.mode.Type() == before.mode.Type() && (now.text == before.text || now.mode.IsDir())
	switch {
	case now == before, same && now.mode.IsDir():
		return nil
	case same && now.mode.IsRegular() && before.mode != 0:
		return w.at(path, func(root *os.Root, name string) error { return root.Chmod(name, before.mode.Perm()) })
	}
	if err := w.setAside(path); err != nil {
		return err
	}
	return w.at(path, func(root *os.Root, name string) error {
		switch {
		case before.mode == 0:
			return nil
		case before.mode.IsDir():
			return root.MkdirAll(name, 0o755)
		case before.mode&fs.ModeSymlink != 0:
			return root.Symlink(before.text, name)
		}
		f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, before.mode.Perm())
		if err != nil {
			return err
		}
		_, err = f.WriteString(before.text)
		return errors.Join(err, f.Chmod(before.mode.Perm()), f.Close())
	})
}

// setAside renames a file or folder, if there is one.
func (w *watch) setAside(path string) error {
	return w.at(path, func(root *os.Root, name string) error {
		for i := 1; ; i++ {
			to := name + aside
			if i > 1 {
				to = fmt.Sprintf("%s%s-%d", name, aside, i)
			}
			if _, err := root.Lstat(to); err == nil {
				continue
			}
			if err := root.Rename(name, to); !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			return nil
		}
	})
}

// at calls do with the folder that commands may write and that has the path, and with the path in it. A link that a
// command makes meanwhile does not lead out of that folder.
func (w *watch) at(path string, do func(root *os.Root, name string) error) error {
	for _, dir := range slices.Concat(w.projects, w.others) {
		if path == dir || !isIn(path, dir) {
			continue
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			return err
		}
		defer root.Close()
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		return do(root, name)
	}
	return fmt.Errorf("%s is not in a folder that commands may write", path)
}

// writes reports whether commands may write to a path.
func (w *watch) writes(path string) bool {
	return slices.ContainsFunc(slices.Concat(w.projects, w.others), func(dir string) bool { return isIn(path, dir) })
}
