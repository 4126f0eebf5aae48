package gitstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A remote that is a path may be anybody's folder: one on a shared disk, or unpacked from
// an archive. Git and we open its files by name, and take for granted that they end. So
// somebody looks first: what is read is to be a file or a folder, and no larger than it may
// be. What is changed after the look is not seen; then only an interrupt helps.

// Bounds of a remote that is a path, in bytes where nothing else is said.
const (
	maxRefFile    = 64 << 10 // HEAD, and refs that are files
	maxConfigFile = 1 << 20
	maxAlternates = 1 << 20
	maxGrafts     = 64 << 20 // shallow, info/grafts
	maxPackIndex  = 1 << 30
	maxIncluded   = 100      // files that include each other, object folders behind each other
	maxObjects    = 10 << 20 // objects that are files
)

// lookOver refuses a remote that is a path in which something is not what it has to be.
// What is missing, or cannot be read, is told by who needs it.
func (r *Repo) lookOver(m Remote) error {
	from, err1 := r.fetchAddress(m)
	to, err2 := r.pushAddress(m)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	for i, address := range []string{from, to} {
		dir, ok := r.localDir(address)
		if !ok || i > 0 && to == from {
			continue
		}
		if err := look(dir); err != nil {
			return err
		}
	}
	return nil
}

// inspection is one look at a folder that is a remote.
type inspection struct {
	stores   map[string]bool // object folders that were looked at
	behind   int             // object folders, each as often as it is named
	included int             // files of configuration
	refs     int
	objects  int
}

func look(dir string) error {
	l := &inspection{stores: map[string]bool{}}
	if st, _ := os.Stat(dir); st != nil && !st.IsDir() {
		return lookAtBundle(dir, st)
	}
	for _, gitDir := range []string{filepath.Join(dir, ".git"), dir, dir + ".git"} {
		if st, _ := os.Stat(gitDir); st != nil && !st.IsDir() {
			var err error
			if gitDir, err = l.folderIn(gitDir, "gitdir:"); err != nil {
				return err
			}
		}
		if exists(filepath.Join(gitDir, "HEAD")) {
			return l.repository(gitDir)
		}
	}
	return nil
}

// lookAtBundle lets git have a file that begins as a bundle does; of any other it would
// read the first line, wherever that ends.
func lookAtBundle(path string, st fs.FileInfo) error {
	if st.Mode().IsRegular() && string(beginning(path, 3)) == "# v" {
		return nil
	}
	return fmt.Errorf("%w: %s is no folder, and no bundle of git's", ErrRemote, path)
}

// folderIn reads the name of a folder from a file.
func (l *inspection) folderIn(path, prefix string) (string, error) {
	if err := l.file(path, maxRefFile); err != nil {
		return "", err
	}
	raw, _ := os.ReadFile(path)
	dir := strings.TrimSpace(strings.TrimPrefix(string(raw), prefix))
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(filepath.Dir(path), dir)
	}
	return dir, nil
}

// repository looks at a git folder, and that which a linked working tree shares.
func (l *inspection) repository(gitDir string) error {
	dirs := []string{gitDir}
	if shared := filepath.Join(gitDir, "commondir"); exists(shared) {
		common, err := l.folderIn(shared, "")
		if err != nil {
			return err
		}
		dirs = append(dirs, common)
	}
	for _, dir := range dirs {
		for _, f := range []struct {
			name string
			most int64
		}{{"HEAD", maxRefFile}, {"packed-refs", maxRefBytes}, {"shallow", maxGrafts}, {"info/grafts", maxGrafts}} {
			if err := l.file(filepath.Join(dir, filepath.FromSlash(f.name)), f.most); err != nil {
				return err
			}
		}
		for _, name := range []string{"config", "config.worktree"} {
			if err := l.config(filepath.Join(dir, name), 0); err != nil {
				return err
			}
		}
		if err := errors.Join(l.packed(dir), l.refFiles(filepath.Join(dir, "refs")), l.reflogs(filepath.Join(dir, "logs"))); err != nil {
			return err
		}
		if err := l.store(filepath.Join(dir, "objects"), 0); err != nil {
			return err
		}
	}
	return nil
}

// file refuses what is there and no regular file of a size that may be. Only where git
// itself makes one, a ref that leads to another, a symbolic link may stand.
func (l *inspection) file(path string, most int64) error {
	st, _ := os.Lstat(path)
	if st != nil && st.Mode()&fs.ModeSymlink != 0 {
		if to, err := os.Readlink(path); err != nil || CheckRefName(to) != nil {
			return notAFile(path, st)
		}
		st, _ = os.Stat(path)
	}
	switch {
	case st == nil:
		return nil
	case !st.Mode().IsRegular():
		return notAFile(path, st)
	case st.Size() > most:
		return hostile("%s has %d bytes: the limit is %d", path, st.Size(), most)
	}
	return nil
}

func notAFile(path string, st fs.FileInfo) error {
	what := "a device"
	switch mode := st.Mode(); {
	case mode.IsDir():
		what = "a folder"
	case mode&fs.ModeSymlink != 0:
		what = "a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		what = "a pipe"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	}
	return hostile("%s is %s, and has to be a file", path, what)
}

// config looks at a file of configuration and at what it includes, on whatever condition.
func (l *inspection) config(path string, depth int) error {
	if l.included++; l.included > maxIncluded {
		return hostile("%s: more than %d files of configuration include each other", path, maxIncluded)
	}
	if err := l.file(path, maxConfigFile); err != nil {
		return err
	}
	if depth > maxIncludes {
		return nil
	}
	raw, _ := os.ReadFile(path)
	var err error
	_ = parseConfig(raw, func(e configEntry) {
		if err != nil || e.key != "path" || e.value == "" || e.section != "include" && e.section != "includeif" {
			return
		}
		target := expandHome(e.value, homeDir())
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		err = l.config(target, depth+1)
	})
	return err
}

// packed counts the refs in packed-refs.
func (l *inspection) packed(dir string) error {
	path := filepath.Join(dir, "packed-refs")
	f, _ := os.Open(path)
	if f == nil {
		return nil
	}
	defer f.Close()
	buf := make([]byte, 64<<10)
	for {
		n, _ := f.Read(buf)
		if n == 0 {
			return nil
		}
		// What a tag peels to has a line of its own, which may be cut in two here: then it
		// counts as a ref.
		l.refs += bytes.Count(buf[:n], []byte("\n")) - bytes.Count(buf[:n], []byte("\n^"))
		if l.refs > maxRefs {
			return tooManyRefs(path)
		}
	}
}

func tooManyRefs(where string) error {
	return hostile("%s has more than %d refs", where, maxRefs)
}

// refFiles looks at the refs that are files.
func (l *inspection) refFiles(dir string) error {
	return eachEntry(dir, func(path string, e fs.DirEntry) error {
		if e.IsDir() {
			return l.refFiles(path)
		}
		if l.refs++; l.refs > maxRefs {
			return tooManyRefs(dir)
		}
		return l.file(path, maxRefFile)
	})
}

// reflogs looks at the files to which a push adds.
func (l *inspection) reflogs(dir string) error {
	return eachEntry(dir, func(path string, e fs.DirEntry) error {
		if e.IsDir() {
			return l.reflogs(path)
		}
		return regular(path, e)
	})
}

// regular refuses what is no file, without a look at its size.
func regular(path string, e fs.DirEntry) error {
	if e.Type().IsRegular() {
		return nil
	}
	if st, _ := e.Info(); st != nil {
		return notAFile(path, st)
	}
	return nil
}

// store looks at an object folder, and at those behind it.
func (l *inspection) store(dir string, depth int) error {
	if l.behind++; l.behind > maxIncluded {
		return hostile("%s: more than %d object folders are behind each other", dir, maxIncluded)
	}
	if !l.stores[dir] {
		l.stores[dir] = true
		if err := l.storeFiles(dir); err != nil {
			return err
		}
	}
	path := filepath.Join(dir, "info", "alternates")
	if err := l.file(path, maxAlternates); err != nil || depth == 5 {
		return err
	}
	for _, behind := range alternates(dir) {
		if err := l.store(behind, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (l *inspection) storeFiles(dir string) error {
	return eachEntry(dir, func(path string, e fs.DirEntry) error {
		name := e.Name()
		if len(name) != 2 && name != "pack" && name != "info" {
			return nil // nobody looks there
		}
		return eachEntry(path, func(path string, e fs.DirEntry) error {
			switch {
			case e.IsDir(): // commit-graphs
				return eachEntry(path, regular)
			case strings.HasSuffix(path, ".idx") && name == "pack":
				return l.packIndex(path)
			}
			if l.objects++; l.objects > maxObjects {
				return hostile("%s has more than %d objects that are files", dir, maxObjects)
			}
			return regular(path, e)
		})
	})
}

// packIndex refuses the index of a pack that claims more objects than it has room for: who
// reads it makes room for them.
func (l *inspection) packIndex(path string) error {
	if err := l.file(path, maxPackIndex); err != nil {
		return err
	}
	const first, sums = 8 + 256*4, 2 * len(Hash{})
	head := beginning(path, first)
	st, _ := os.Stat(path)
	if st == nil || len(head) < first || !bytes.HasPrefix(head, []byte("\xfftOc\x00\x00\x00\x02")) {
		return nil // none that we read, or it was repacked since
	}
	n := int64(binary.BigEndian.Uint32(head[first-4:]))
	if st.Size() < int64(first+sums)+n*int64(len(Hash{})+4+4) {
		return hostile("%s claims to have %d objects, and is too short for them", path, n)
	}
	return nil
}

// beginning reads the first bytes of a file, as far as it has them.
func beginning(path string, n int64) []byte {
	f, _ := os.Open(path)
	if f == nil {
		return nil
	}
	defer f.Close()
	head, _ := io.ReadAll(io.LimitReader(f, n))
	return head
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// eachEntry calls fn for what is in a folder, which may be large, until fn fails.
func eachEntry(dir string, fn func(path string, e fs.DirEntry) error) error {
	if st, _ := os.Stat(dir); st == nil || !st.IsDir() {
		return nil
	}
	f, _ := os.Open(dir)
	if f == nil {
		return nil
	}
	defer f.Close()
	for {
		entries, _ := f.ReadDir(1000)
		if len(entries) == 0 {
			return nil
		}
		for _, e := range entries {
			if err := fn(filepath.Join(dir, e.Name()), e); err != nil {
				return err
			}
		}
	}
}
