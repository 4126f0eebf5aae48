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

	"tape/internal/git/gitindex"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/lineage"
	"tape/internal/store/workspace"
)

// marks says which files were imported completely, so that they need not be read again. It is a cache:
// without a mark, the file is compared with the tape. A mark is valid while the file's stat is the same
// and the tape has the commit. Marks of other versions of the program are ignored, because this version
// may read more from the same file.
type marks struct {
	s       *workspace.Store
	header  string
	byKey   map[string]mark
	paths   map[string]string        // of transcripts, by tape; valid for all versions
	heads   map[string]gitstore.Hash // of the tapes' branches
	changed bool
}

type mark struct {
	stat    string // of the file
	head    gitstore.Hash
	entries int
	leftOut int // as in [Result.LeftOut]
	format  string
	tape    string
}

const (
	marksFile = "imports" // in .git/tape
	pathLine  = "path"    // first field of a line with the path of a tape's transcript
	// minAge is how old a file must be to get a mark: a younger one may still change without getting a new time.
	minAge = 2 * time.Second
)

func loadMarks(s *workspace.Store, version string) *marks {
	m := &marks{s: s, header: fmt.Sprintf("tape imports 2 %q\n", version), byKey: map[string]mark{}, paths: map[string]string{}}
	raw, _ := os.ReadFile(s.PrivatePath(marksFile)) // usually there is none
	same := strings.HasPrefix(string(raw), m.header)
	for line := range strings.Lines(string(raw)) {
		var k mark
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 7)
		if len(f) == 7 && f[0] == pathLine {
			path, err := strconv.Unquote(f[1])
			if tape, tapeErr := strconv.Unquote(f[6]); err == nil && tapeErr == nil {
				m.paths[tape] = path
			}
			continue
		}
		if len(f) < 7 || !same {
			continue
		}
		var errs [4]error
		k.head, errs[0] = gitstore.ParseHash(f[2])
		k.entries, errs[1] = strconv.Atoi(f[3])
		k.leftOut, errs[2] = strconv.Atoi(f[4])
		k.tape, errs[3] = strconv.Unquote(f[6])
		if k.stat, k.format = f[1], f[5]; errs == [4]error{} {
			m.byKey[f[0]] = k
		}
	}
	return m
}

// newMark returns a mark with only the file's stat, and its key; "" if the file cannot have one.
func newMark(name string, o Options) (key string, k mark) {
	path, err := filepath.Abs(name)
	name, beside := o.Formats.files(path, name)
	st, serr := os.Stat(name)
	if name == "-" || err != nil || serr != nil || time.Since(st.ModTime()) < minAge {
		return "", k
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %v", path, o.Format, o.Tape, o.Fallback, o.NoSubagents))
	k.stat = gitindex.Stat(st)
	for _, note := range beside {
		st, err := os.Stat(note)
		if err == nil && time.Since(st.ModTime()) < minAge {
			return "", mark{}
		}
		if err == nil {
			k.stat += " " + gitindex.Stat(st)
		}
	}
	return fmt.Sprintf("%x", sum[:16]), k
}

// valid returns the mark of an earlier import of a file, and whether it is still valid.
func (m *marks) valid(key string, now mark) (mark, bool) {
	k, ok := m.byKey[key]
	if !ok || k.stat != now.stat {
		return k, false
	}
	if m.heads == nil && m.readHeads() != nil {
		return k, false
	}
	head, ok := m.heads[layout.BranchPrefix+layout.TapeSlug(k.tape)]
	if ok && head != k.head {
		has, err := lineage.Contains(m.s, head, k.head)
		ok = has && err == nil
	}
	return k, ok
}

func (m *marks) readHeads() error {
	refs, err := m.s.Git().Refs(layout.BranchPrefix)
	m.heads = make(map[string]gitstore.Hash, len(refs))
	for _, ref := range refs {
		m.heads[ref.Name] = ref.Hash
	}
	return err
}

// note keeps the path of a tape's transcript.
func (m *marks) note(tape, file string) {
	path, err := filepath.Abs(file)
	if file == "-" || err != nil || m.paths[tape] == path {
		return
	}
	m.paths[tape] = path
	m.changed = true
}

// put adds a mark, which gets its head when the marks are saved.
func (m *marks) put(key string, k mark) {
	m.byKey[key] = k
	m.changed = true
}

// save writes the marks and paths of tapes that exist. If it fails, the next import takes longer, and [Transcript] does
// not know new paths.
func (m *marks) save(ctx context.Context) {
	if !m.changed || ctx.Err() != nil || m.readHeads() != nil {
		return
	}
	m.changed = false
	var out bytes.Buffer
	out.WriteString(m.header)
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
		fmt.Fprintf(&out, "%s\t%s\t%s\t%d\t%d\t%s\t%q\n", key, k.stat, k.head, k.entries, k.leftOut, k.format, k.tape)
	}
	for _, tape := range slices.Sorted(maps.Keys(m.paths)) {
		if _, ok := m.heads[layout.BranchPrefix+layout.TapeSlug(tape)]; ok {
			fmt.Fprintf(&out, "%s\t%q\t\t\t\t\t%q\n", pathLine, m.paths[tape], tape)
		}
	}
	_ = m.s.FS().WriteFile(m.s.PrivatePath(marksFile), out.Bytes())
}
