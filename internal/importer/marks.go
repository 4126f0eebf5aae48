package importer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tape/internal/gitstore"
	"tape/internal/layout"
	"tape/internal/lineage"
	"tape/internal/workspace"
)

// marks says which files a tape has all of, so that they need not be read again. It is a cache:
// without a mark, what the tape has is compared. A mark counts while the file is as long and as
// old as it was, and the tape still has the commit that it had.
type marks struct {
	s       *workspace.Store
	byKey   map[string]mark
	heads   map[string]gitstore.Hash // of the tapes' branches
	changed bool
}

type mark struct {
	size, time int64 // of the file; time in ns
	head       gitstore.Hash
	entries    int
	leftOut    int // entries of subagents
	format     string
	tape       string
}

const (
	marksFile   = "imports" // in our part of .git
	marksHeader = "tape imports 1\n"
	// settled is how old a file has to be: one that is just being written may change without
	// getting another time.
	settled = 2 * time.Second
)

func loadMarks(s *workspace.Store) *marks {
	m := &marks{s: s, byKey: map[string]mark{}}
	raw, _ := os.ReadFile(s.PrivatePath(marksFile)) // mostly there is none
	lines, ok := strings.CutPrefix(string(raw), marksHeader)
	if !ok {
		return m
	}
	for line := range strings.Lines(lines) {
		var k mark
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 8)
		if len(f) < 8 {
			continue
		}
		var errs [6]error
		k.size, errs[0] = strconv.ParseInt(f[1], 10, 64)
		k.time, errs[1] = strconv.ParseInt(f[2], 10, 64)
		k.head, errs[2] = gitstore.ParseHash(f[3])
		k.entries, errs[3] = strconv.Atoi(f[4])
		k.leftOut, errs[4] = strconv.Atoi(f[5])
		k.tape, errs[5] = strconv.Unquote(f[7])
		if k.format = f[6]; errs == [6]error{} {
			m.byKey[f[0]] = k
		}
	}
	return m
}

// stamp is what a file is before it is read: the key of its mark, and the mark without what the
// tape has. Of standard input there is none.
func stamp(name string, o Options) (key string, k mark) {
	path, err := filepath.Abs(name)
	st, serr := os.Stat(name)
	if name == "-" || err != nil || serr != nil || time.Since(st.ModTime()) < settled {
		return "", k
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %v", path, o.Format, o.Tape, o.Fallback, o.NoSubagents))
	return fmt.Sprintf("%x", sum[:16]), mark{size: st.Size(), time: st.ModTime().UnixNano()}
}

// known returns what an earlier import has made of a file, if that still holds.
func (m *marks) known(key string, now mark) (mark, bool) {
	k, ok := m.byKey[key]
	if !ok || k.size != now.size || k.time != now.time {
		return k, false
	}
	if m.heads == nil && m.list() != nil {
		return k, false
	}
	head, ok := m.heads[layout.BranchPrefix+layout.TapeSlug(k.tape)]
	if ok && head != k.head {
		has, err := lineage.Contains(m.s, head, k.head)
		ok = has && err == nil
	}
	return k, ok
}

func (m *marks) list() error {
	refs, err := m.s.Git().Refs(layout.BranchPrefix)
	m.heads = make(map[string]gitstore.Hash, len(refs))
	for _, ref := range refs {
		m.heads[ref.Name] = ref.Hash
	}
	return err
}

// put notes that a tape has all of a file. Its head is known when the marks are saved.
func (m *marks) put(key string, k mark) {
	m.byKey[key] = k
	m.changed = true
}

// save writes the marks of tapes that are there. What fails costs time, and nothing else.
func (m *marks) save(ctx context.Context) {
	if !m.changed || ctx.Err() != nil || m.list() != nil {
		return
	}
	m.changed = false
	var out bytes.Buffer
	out.WriteString(marksHeader)
	for _, key := range slices.Sorted(maps.Keys(m.byKey)) {
		k := m.byKey[key]
		head, ok := m.heads[layout.BranchPrefix+layout.TapeSlug(k.tape)]
		if !ok {
			delete(m.byKey, key)
			continue
		}
		if k.head.IsZero() {
			k.head = head
			m.byKey[key] = k
		}
		fmt.Fprintf(&out, "%s\t%d\t%d\t%s\t%d\t%d\t%s\t%q\n", key, k.size, k.time, k.head, k.entries, k.leftOut, k.format, k.tape)
	}
	_ = m.s.FS().WriteFile(m.s.PrivatePath(marksFile), out.Bytes())
}
