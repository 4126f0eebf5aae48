package gitobject

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Modes of tree entries. No other mode is ever written.
const (
	ModeFile uint32 = 0o100644
	ModeDir  uint32 = 0o040000
)

// TreeEntry is one name in a tree.
type TreeEntry struct {
	Name string
	Mode uint32
	Hash Hash
}

// IsDir reports whether the entry is a folder.
func (e TreeEntry) IsDir() bool { return e.Mode == ModeDir }

// Compare orders entries as git does: a folder's name is compared as if it ended in a slash.
func (e TreeEntry) Compare(other TreeEntry) int {
	n := min(len(e.Name), len(other.Name))
	return cmp.Or(strings.Compare(e.Name[:n], other.Name[:n]), cmp.Compare(e.byteAt(n), other.byteAt(n)), cmp.Compare(len(e.Name), len(other.Name)))
}

// byteAt returns byte n of the name, which for a folder ends in a slash; 0 after its end.
func (e TreeEntry) byteAt(n int) byte {
	switch {
	case len(e.Name) > n:
		return e.Name[n]
	case e.IsDir():
		return '/'
	}
	return 0
}

// EncodeTree returns the bytes of a tree object; entries may come in any order.
func EncodeTree(entries []TreeEntry) []byte {
	sorted := slices.Clone(entries)
	if !slices.IsSortedFunc(sorted, TreeEntry.Compare) {
		slices.SortFunc(sorted, TreeEntry.Compare)
	}
	out := make([]byte, 0, len(sorted)*48)
	for _, e := range sorted {
		out = strconv.AppendUint(out, uint64(e.Mode), 8)
		out = append(out, ' ')
		out = append(out, e.Name...)
		out = append(out, 0)
		out = append(out, e.Hash[:]...)
	}
	return out
}

// DecodeTree reads a tree object, and refuses names that could lead out of the folder.
func DecodeTree(raw []byte) ([]TreeEntry, error) {
	out, err := DecodeAnyTree(raw)
	for _, e := range out {
		if err := CheckName(e.Name); err != nil {
			return nil, err
		}
	}
	return out, err
}

// DecodeAnyTree is DecodeTree without the check of names.
func DecodeAnyTree(raw []byte) ([]TreeEntry, error) {
	var out []TreeEntry
	for len(raw) > 0 {
		space := bytes.IndexByte(raw, ' ')
		nul := bytes.IndexByte(raw, 0)
		if space < 0 || nul < space || len(raw) < nul+1+20 {
			return nil, errors.New("damaged tree")
		}
		mode, err := strconv.ParseUint(string(raw[:space]), 8, 32)
		if err != nil {
			return nil, fmt.Errorf("damaged tree: %w", err)
		}
		e := TreeEntry{Name: string(raw[space+1 : nul]), Mode: uint32(mode)}
		copy(e.Hash[:], raw[nul+1:])
		out = append(out, e)
		raw = raw[nul+1+20:]
	}
	return out, nil
}

// CheckName refuses a name that could lead out of a folder.
func CheckName(name string) error {
	if name == "" || name == "." || name == ".." || strings.IndexByte(name, '/') >= 0 || strings.IndexByte(name, '\\') >= 0 || strings.EqualFold(name, ".git") {
		return fmt.Errorf("unsafe name %q in a tree", name)
	}
	return nil
}

// Commit is a commit object.
type Commit struct {
	Tree              Hash
	Parents           []Hash
	Author, Committer Signature
	Message           string
}

// EncodeCommit returns the bytes of a commit object, unsigned.
func EncodeCommit(c Commit) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "tree %s\n", c.Tree)
	for _, p := range c.Parents {
		fmt.Fprintf(&b, "parent %s\n", p)
	}
	fmt.Fprintf(&b, "author %s\ncommitter %s\n\n%s", EncodeSignature(c.Author), EncodeSignature(c.Committer), c.Message)
	return b.Bytes()
}

// DecodeCommit reads a commit object, and ignores a signature and unknown headers.
func DecodeCommit(raw []byte) (Commit, error) {
	var c Commit
	head, message, _ := strings.Cut(string(raw), "\n\n")
	c.Message = message
	for line := range strings.SplitSeq(head, "\n") {
		key, value, _ := strings.Cut(line, " ")
		var err error
		switch key {
		case "tree":
			c.Tree, err = ParseHash(value)
		case "parent":
			var p Hash
			p, err = ParseHash(value)
			c.Parents = append(c.Parents, p)
		case "author":
			c.Author, err = DecodeSignature(value)
		case "committer":
			c.Committer, err = DecodeSignature(value)
		}
		if err != nil {
			return c, fmt.Errorf("damaged commit: %w", err)
		}
	}
	if c.Tree.IsZero() {
		return c, errors.New("damaged commit: it names no tree")
	}
	return c, nil
}

// Subject returns the first line of the message.
func (c Commit) Subject() string {
	subject, _, _ := strings.Cut(c.Message, "\n")
	return subject
}

// Trailer returns the value of a trailer in the last paragraph of the message, or "".
func (c Commit) Trailer(key string) string {
	paragraphs := strings.Split(strings.TrimRight(c.Message, "\n"), "\n\n")
	for line := range strings.SplitSeq(paragraphs[len(paragraphs)-1], "\n") {
		if k, v, ok := strings.Cut(line, ": "); ok && strings.EqualFold(k, key) {
			return v
		}
	}
	return ""
}

// Tag is an annotated tag of a commit.
type Tag struct {
	Object  Hash
	Name    string // without refs/tags/
	Tagger  Signature
	Message string
}

// EncodeTag returns the bytes of a tag object, unsigned.
func EncodeTag(t Tag) []byte {
	return fmt.Appendf(nil, "object %s\ntype commit\ntag %s\ntagger %s\n\n%s", t.Object, t.Name, EncodeSignature(t.Tagger), t.Message)
}

// DecodeTag reads an annotated tag of a commit.
func DecodeTag(raw []byte) (Tag, error) {
	var t Tag
	head, message, _ := strings.Cut(string(raw), "\n\n")
	t.Message = message
	for line := range strings.SplitSeq(head, "\n") {
		key, value, _ := strings.Cut(line, " ")
		var err error
		switch key {
		case "object":
			t.Object, err = ParseHash(value)
		case "type":
			if value != "commit" {
				err = fmt.Errorf("it names a %s", value)
			}
		case "tag":
			t.Name = value
		case "tagger":
			t.Tagger, err = DecodeSignature(value)
		}
		if err != nil {
			return t, fmt.Errorf("damaged tag: %w", err)
		}
	}
	if t.Object.IsZero() {
		return t, errors.New("damaged tag: it names no object")
	}
	return t, nil
}

// EncodeSignature returns git's `Name <mail> seconds zone`.
func EncodeSignature(s Signature) string {
	return fmt.Sprintf("%s <%s> %d %s", s.Name, s.Email, s.When.Unix(), s.When.Format("-0700"))
}

// DecodeSignature reads git's `Name <mail> seconds zone`.
func DecodeSignature(v string) (Signature, error) {
	open, end := strings.LastIndexByte(v, '<'), strings.LastIndexByte(v, '>')
	if open < 0 || end < open {
		return Signature{}, fmt.Errorf("no mail address in %.80q", v)
	}
	s := Signature{Name: strings.TrimSpace(v[:open]), Email: v[open+1 : end]}
	stamp, zone, _ := strings.Cut(strings.TrimSpace(v[end+1:]), " ")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return s, fmt.Errorf("no time in %.80q", v)
	}
	s.When = time.Unix(seconds, 0).UTC()
	if parsed, err := time.Parse("-0700", zone); err == nil {
		_, offset := parsed.Zone()
		s.When = s.When.In(time.FixedZone("", offset))
	}
	return s, nil
}

// SignCommit puts a signature into a raw commit: as gpgsig, the last header, whose further lines
// begin with a space.
func SignCommit(raw []byte, sig string) []byte {
	end := bytes.Index(raw, []byte("\n\n"))
	if end < 0 {
		end = len(raw) - 1
	}
	lines := strings.TrimSuffix(strings.ReplaceAll(sig, "\r", ""), "\n")
	return slices.Concat(raw[:end+1], []byte("gpgsig "+strings.ReplaceAll(lines, "\n", "\n ")+"\n"), raw[end+1:])
}

// SignTag appends a signature to a raw tag.
func SignTag(raw []byte, sig string) []byte {
	out := append(bytes.Clone(raw), strings.ReplaceAll(sig, "\r", "")...)
	if !bytes.HasSuffix(out, []byte("\n")) {
		out = append(out, '\n')
	}
	return out
}
