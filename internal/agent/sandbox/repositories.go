package sandbox

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// maxFolders is how many folders of a project are watched. To look at more would hold up each command.
const maxFolders = 300_000

// folder is what a folder had in it when it was read.
type folder struct {
	id      identity
	fresh   bool     // it had changed so shortly before that a further change may have left id as it is
	folders []string // their names
	links   []string // the names of symbolic links
	head    bool     // it has something called HEAD, as a repository does
	pointer bool     // it has a .git that is no folder, and so leads to one
}

// identity tells whether a folder's entries have changed: a program cannot set the time of a file's change.
type identity struct {
	dev, ino  uint64
	sec, nsec int64
}

// tick is longer than the steps in which file systems count time.
const tick = 2 * time.Second

// found are the repositories that git would take for one in folders.
type found struct {
	git      []string            // the folders that have HEAD, objects and refs
	pointers map[string][]string // by such a folder: files and links called .git that lead to it
	more     bool                // there are more folders than are watched
	around   bool                // something leads through /proc, where a link may lead git elsewhere than this process
}

// magic is in paths whose meaning depends on the process that follows them, such as /proc/self/cwd.
const magic = "proc/"

// look returns the repositories in what commands may write. It reads only the folders that have changed.
func (w *watch) look() found {
	next, f := map[string]folder{}, found{pointers: map[string][]string{}}
	for _, root := range w.projects {
		w.walk(root, next, &f)
	}
	// The folders for temporary files and caches are looked at once a link of the project leads there.
	for dir, has := range next {
		for _, name := range has.links {
			path := filepath.Join(dir, name)
			target, err := filepath.EvalSymlinks(path)
			if to, _ := os.Readlink(path); strings.Contains(to, magic) {
				f.around = true
			}
			if err != nil {
				continue
			}
			if w.shares(target) && maybe(target) {
				f.git, f.pointers[target] = append(f.git, target), append(f.pointers[target], path)
			}
			for _, root := range w.others {
				if _, done := next[root]; !done && isIn(target, root) {
					w.walk(root, next, &f)
				}
			}
		}
	}
	if f.around {
		for _, root := range w.others {
			w.walk(root, next, &f)
		}
	}
	w.folders = next
	slices.Sort(f.git)
	f.git = slices.Compact(f.git)
	return f
}

// walk adds what is in a folder and below it.
func (w *watch) walk(root string, next map[string]folder, f *found) {
	for todo := []string{root}; len(todo) > 0; {
		dir := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if _, done := next[dir]; done {
			continue
		}
		if len(next) >= maxFolders {
			f.more = true
			return
		}
		has, ok := w.entries(dir)
		if !ok {
			continue
		}
		next[dir] = has
		if has.head && maybe(dir) {
			f.git = append(f.git, dir)
		}
		if has.pointer {
			path := filepath.Join(dir, dotGit)
			git := target(path)
			if git != "" && (w.writes(git) || w.shares(git)) && maybe(git) {
				f.git, f.pointers[git] = append(f.git, git), append(f.pointers[git], path)
			}
			if raw, err := readRegular(path); err == nil && strings.Contains(string(raw), magic) {
				f.around = true
			}
		}
		for _, name := range has.folders {
			todo = append(todo, filepath.Join(dir, name))
		}
	}
}

// shares reports whether a path is among the files of other programs, where commands may make files, too.
func (w *watch) shares(path string) bool {
	return w.shared != "" && isIn(path, w.shared) && !w.writes(path)
}

// entries returns what is in a folder, from memory if it has not changed.
func (w *watch) entries(dir string) (folder, bool) {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return folder{}, false
	}
	id := identityOf(info)
	if old, ok := w.folders[dir]; ok && old.id == id && !old.fresh {
		return old, true
	}
	has := folder{id: id, fresh: id == identity{} || time.Since(time.Unix(id.sec, id.nsec)) < tick}
	list, err := os.ReadDir(dir)
	if os.IsPermission(err) && w.settling {
		// In a folder that cannot be listed, git still finds a repository.
		_ = w.enter(dir, 0o700) // what cannot be read after that, git cannot enter either
		list, err = os.ReadDir(dir)
	}
	if err != nil && len(list) == 0 {
		return folder{id: id}, os.IsPermission(err)
	}
	for _, e := range list {
		switch name := e.Name(); {
		case name == "HEAD":
			has.head = true
		case name == dotGit && !e.IsDir():
			has.pointer = true
		}
		switch {
		case e.IsDir():
			has.folders = append(has.folders, e.Name())
		case e.Type()&fs.ModeSymlink != 0:
			has.links = append(has.links, e.Name())
		}
	}
	has.links = slices.DeleteFunc(has.links, func(name string) bool { return w.staysIn(dir, name) })
	return has, true
}

// staysIn reports whether a link leads to something in the folders that are walked, as far as its text says.
func (w *watch) staysIn(dir, name string) bool {
	to, err := os.Readlink(filepath.Join(dir, name))
	if err != nil {
		return false
	}
	to = under(dir, to)
	return slices.ContainsFunc(w.projects, func(root string) bool { return isIn(to, root) })
}

// target returns the folder to which a .git leads that is a file or a link; "" if it leads nowhere.
func target(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	if info, err := os.Stat(real); err == nil && info.IsDir() {
		return real
	}
	raw, err := readRegular(real)
	to, ok := strings.CutPrefix(string(raw), "gitdir: ")
	if err != nil || !ok {
		return ""
	}
	return follow(filepath.Dir(path), strings.TrimRight(to, "\r\n"))
}

// follow returns where a path leads that is meant below a folder, as the kernel follows it: after a link, ".." is
// another folder than the path says.
func follow(dir, path string) string {
	if !filepath.IsAbs(path) {
		path = dir + "/" + path
	}
	return filepath.Clean(resolved(path))
}

// maybe reports whether git may take a folder for a repository. Links, and what commondir names, can lead git elsewhere
// than this process.
func maybe(git string) bool {
	if valid(git) {
		return true
	}
	if !validHead(filepath.Join(git, headFile)) {
		return false
	}
	if _, err := os.Lstat(filepath.Join(git, commonDir)); err == nil {
		return true
	}
	for _, name := range stores {
		if _, err := os.Lstat(filepath.Join(git, name)); err != nil {
			return false
		}
	}
	return true
}

// valid reports whether git takes a folder for a repository: it looks at HEAD, objects and refs (git's
// is_git_directory in setup.c). Modes do not count, because they are changed easily.
func valid(git string) bool {
	if !validHead(filepath.Join(git, headFile)) {
		return false
	}
	common := commonOf(git)
	for _, name := range stores {
		if _, err := os.Stat(filepath.Join(common, name)); err != nil {
			return false
		}
	}
	return true
}

// stores are the folders without which git takes none for a repository.
var stores = [2]string{"objects", "refs"}

func validHead(path string) bool {
	if to, err := os.Readlink(path); err == nil && strings.HasPrefix(to, "refs/") {
		return true
	}
	raw, err := readStart(path)
	if err != nil {
		return os.IsPermission(err)
	}
	text := string(raw)
	if ref, ok := strings.CutPrefix(text, "ref:"); ok {
		return strings.HasPrefix(strings.TrimLeft(ref, " \t\r\n\v\f"), "refs/")
	}
	id := text[:min(40, len(text))]
	return len(id) == 40 && strings.Trim(id, "0123456789abcdefABCDEF") == ""
}

// commonOf returns the folder with the configuration, the hooks, objects and refs of a repository.
func commonOf(git string) string {
	raw, err := readStart(filepath.Join(git, commonDir))
	if err != nil {
		return git
	}
	return follow(git, strings.TrimRight(string(raw), "\r\n"))
}

// maxRead bounds the size of a file that is read.
const maxRead = 4 << 20

// readRegular reads a file of at most maxRead bytes.
func readRegular(path string) ([]byte, error) {
	raw, err := readStart(path)
	if err == nil && len(raw) > maxRead {
		err = fmt.Errorf("%s has more than %d bytes", path, maxRead)
	}
	return raw, err
}

// readStart reads the first maxRead bytes of a file, and one more if there are more. Git reads no more of HEAD, and
// takes spaces and newlines from the end of what it reads. The file is neither a device nor a pipe, on which a command
// could let tape wait.
func readStart(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no plain file", path)
	}
	return io.ReadAll(io.LimitReader(f, maxRead+1))
}
