package repo

import (
	"bytes"
	"errors"
	"slices"

	"tape/internal/gitstore"
	"tape/internal/jsonl"
)

// trees compares two folders.
func (c *purgeCheck) trees(was, is gitstore.Hash, compare func(a, b gitstore.TreeEntry) (bool, error)) (bool, error) {
	pair := [2]gitstore.Hash{was, is}
	if was == is || c.same[pair] {
		return true, nil
	}
	a, err1 := c.s.git.Tree(was)
	b, err2 := c.s.git.Tree(is)
	if err := errors.Join(err1, err2); err != nil {
		return false, err
	}
	b, ok := c.paired(a, b)
	if !ok {
		return false, nil
	}
	for i := range a {
		if a[i] == b[i] {
			continue
		}
		if a[i].Mode != b[i].Mode {
			return false, nil
		}
		if ok, err := compare(a[i], b[i]); err != nil || !ok {
			return false, err
		}
	}
	c.same[pair] = true
	return true, nil
}

// paired puts the entries of a folder into the order of what they were; false where they do
// not pair. A masked name may have another place.
func (c *purgeCheck) paired(was, is []gitstore.TreeEntry) ([]gitstore.TreeEntry, bool) {
	if len(was) != len(is) {
		return nil, false
	}
	if slices.EqualFunc(was, is, func(a, b gitstore.TreeEntry) bool { return a.Name == b.Name }) {
		return is, true
	}
	names := map[string]bool{}
	for _, e := range was {
		names[e.Name] = true
	}
	out, left := slices.Clone(is), []gitstore.TreeEntry(nil)
	byName := map[string]gitstore.TreeEntry{}
	for _, e := range is {
		if byName[e.Name] = e; !names[e.Name] {
			left = append(left, e)
		}
	}
	for i, e := range was {
		if same, ok := byName[e.Name]; ok {
			out[i] = same
			continue
		}
		at := slices.IndexFunc(left, func(n gitstore.TreeEntry) bool { return c.renamed(e.Name, n.Name) })
		if at < 0 {
			return nil, false
		}
		out[i] = left[at]
		left = slices.Delete(left, at, at+1)
	}
	return out, true
}

// renamed reports whether a file or folder may have another name now.
func (c *purgeCheck) renamed(was, is string) bool {
	before, _, ok1 := parseFolder(was)
	after, _, ok2 := parseFolder(is)
	return ok1 && ok2 && before == after || c.allow.name(was, is)
}

func (c *purgeCheck) inRoot(a, b gitstore.TreeEntry) (bool, error) {
	if a.Name == anchorsDir && b.Name == anchorsDir && a.IsDir() {
		return c.trees(a.Hash, b.Hash, c.inAnchors)
	}
	return c.foreign(a, b)
}

// foreign compares files that are none of a tape's.
func (c *purgeCheck) foreign(a, b gitstore.TreeEntry) (bool, error) {
	switch {
	case a.Name != b.Name && !c.allow.name(a.Name, b.Name):
		return false, nil
	case a.IsDir():
		return c.trees(a.Hash, b.Hash, c.foreign)
	}
	was, err1 := c.s.git.Blob(a.Hash)
	is, err2 := c.s.git.Blob(b.Hash)
	return c.allow.text(string(was), string(is)), errors.Join(err1, err2)
}

func (c *purgeCheck) inAnchors(a, b gitstore.TreeEntry) (bool, error) {
	seqA, _, okA := parseFolder(a.Name)
	seqB, _, okB := parseFolder(b.Name)
	if !okA || !okB || !a.IsDir() {
		return c.foreign(a, b)
	}
	if seqA != seqB {
		return false, nil
	}
	pair := [2]gitstore.Hash{a.Hash, b.Hash}
	if a.Hash == b.Hash || c.same[pair] {
		return true, nil
	}
	ok, err := c.phases(a.Hash, b.Hash)
	c.same[pair] = ok && err == nil
	return ok, err
}

// phases compares two forms of a phase: its lines, however they are divided into files.
func (c *purgeCheck) phases(was, is gitstore.Hash) (bool, error) {
	var files [2][classCount][]gitstore.TreeEntry
	var others [2][]gitstore.TreeEntry
	for i, h := range []gitstore.Hash{was, is} {
		entries, err := c.s.git.Tree(h)
		if err != nil {
			return false, err
		}
		for _, e := range entries {
			if class, _, ok := parseSegment(e.Name); ok && e.Mode == gitstore.ModeFile {
				files[i][class] = append(files[i][class], e)
			} else {
				others[i] = append(others[i], e)
			}
		}
		for class := range files[i] {
			slices.SortFunc(files[i][class], bySegment)
		}
	}
	var ok bool
	if others[1], ok = c.paired(others[0], others[1]); !ok {
		return false, nil
	}
	for i, a := range others[0] {
		b := others[1][i]
		if a.Mode != b.Mode {
			return false, nil
		}
		compare := c.foreign
		if a.Name == anchorFile && b.Name == anchorFile {
			compare = func(a, b gitstore.TreeEntry) (bool, error) {
				return c.files([]gitstore.TreeEntry{a}, []gitstore.TreeEntry{b})
			}
		}
		if ok, err := compare(a, b); err != nil || !ok {
			return false, err
		}
	}
	for class := range classCount {
		if ok, err := c.files(files[0][class], files[1][class]); err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

// files compares the lines of one class.
func (c *purgeCheck) files(was, is []gitstore.TreeEntry) (bool, error) {
	a, b := fileLines{s: c.s, files: was}, fileLines{s: c.s, files: is}
	for {
		if len(a.data) == 0 && len(b.data) == 0 {
			// Both are at the beginning of a file: equal ones need not be read.
			for len(a.files) > 0 && len(b.files) > 0 && a.files[0].Hash == b.files[0].Hash {
				a.files, b.files = a.files[1:], b.files[1:]
			}
		}
		before, okA, err1 := a.next()
		after, okB, err2 := b.next()
		if err := errors.Join(err1, err2); err != nil || okA != okB {
			return false, err
		}
		if !okA {
			return true, nil
		}
		if bytes.Equal(before, after) {
			continue
		}
		if jsonl.Valid(before) != nil || jsonl.Valid(after) != nil {
			if !c.allow.text(string(before), string(after)) {
				return false, nil
			}
			continue
		}
		links := len(c.links)
		if !c.allow.line(before, after, c.follows) {
			return false, nil
		}
		// What a summary names follows its commit, and is no change to what it says.
		if id, err := jsonl.ParseID(before); c.changed != nil && err == nil && len(c.links) == links {
			c.changed[id] = true
		}
	}
}

// fileLines goes through the lines of several files.
type fileLines struct {
	s     *Store
	files []gitstore.TreeEntry // not read yet
	data  []byte
}

func (f *fileLines) next() (line []byte, ok bool, err error) {
	for len(f.data) == 0 {
		if len(f.files) == 0 {
			return nil, false, nil
		}
		if f.data, err = f.s.git.Blob(f.files[0].Hash); err != nil {
			return nil, false, err
		}
		f.files = f.files[1:]
	}
	line, f.data, _ = bytes.Cut(f.data, []byte("\n"))
	return line, true, nil
}
