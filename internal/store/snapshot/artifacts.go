package snapshot

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
	"tape/internal/text/jsonl"
)

// ArtifactsOf returns the artifacts in the tree of a phase.
func ArtifactsOf(git *gitstore.Repo, phase []gitstore.TreeEntry) ([]gitstore.TreeEntry, error) {
	folder, ok := layout.FindEntry(phase, layout.ArtifactsDir)
	if !ok || !folder.IsDir() {
		return nil, nil
	}
	return git.Tree(folder.Hash)
}

// Format returns the commit's format: layout.ArtifactFormat if the tape has artifacts. A commit made by hand
// does not say its format; then the trees are searched for artifacts.
func (v *Snapshot) Format() (int, error) {
	if v.format > 0 {
		return v.format, nil
	}
	for _, p := range slices.Backward(v.List) {
		entries, err := v.Tree(p)
		if err != nil {
			return 0, err
		}
		if _, ok := layout.FindEntry(entries, layout.ArtifactsDir); ok {
			return layout.ArtifactFormat, nil
		}
	}
	return layout.FormatVersion, nil
}

// CommittedArtifacts returns the artifacts of a phase that are in git.
func (v *Snapshot) CommittedArtifacts(p layout.Phase) ([]gitstore.TreeEntry, error) {
	c, was, ok, err := v.inCommit(p)
	if err != nil || !ok {
		return nil, err
	}
	entries, err := c.Tree(was)
	if err != nil {
		return nil, err
	}
	folder, ok := layout.FindEntry(entries, layout.ArtifactsDir)
	if !ok || !folder.IsDir() {
		return nil, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lastFolder != folder.Hash {
		list, err := c.Git.Tree(folder.Hash)
		if err != nil {
			return nil, layout.CorruptObject(c.Commit, err)
		}
		c.lastFolder, c.artifacts = folder.Hash, list
	}
	return c.artifacts, nil
}

// inCommit returns a phase as it is in the commit; for a working tree, in its branch's commit.
func (v *Snapshot) inCommit(p layout.Phase) (c *Snapshot, was layout.Phase, ok bool, err error) {
	switch {
	case v.Dir == "":
		return v, p, true, nil
	case v.Under != nil:
		c = v.Under
	case v.head != nil:
		if c, err = v.head(); err != nil {
			return nil, p, false, err
		}
	default:
		return nil, p, false, nil
	}
	was, ok = c.Phase(p.Seq, p.Folder)
	return c, was, ok, nil
}

// Artifacts returns the names of a phase's artifacts, sorted.
func (v *Snapshot) Artifacts(p layout.Phase) ([]string, error) {
	committed, err := v.CommittedArtifacts(p)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range committed {
		out = append(out, e.Name)
	}
	if v.Dir != "" {
		onDisk, err := ArtifactsIn(v.Path(p, ""))
		if err != nil {
			return nil, err
		}
		out = append(out, onDisk...)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// ArtifactsIn returns the names of the artifacts in a phase's folder.
func ArtifactsIn(phase string) ([]string, error) {
	names, err := workspace.DirNames(filepath.Join(phase, layout.ArtifactsDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return slices.DeleteFunc(names, func(name string) bool { return !layout.IsArtifactName(name) }), err
}

// FindArtifact returns the newest phase that has an artifact, and its full name. name may be a prefix that is
// unique in the tape. Errors: ErrNotFound, ErrInvalid.
func (v *Snapshot) FindArtifact(name string) (found layout.Phase, full string, err error) {
	for _, p := range slices.Backward(v.List) {
		if layout.IsArtifactName(name) {
			if has, err := v.hasArtifact(p, name); err != nil || has {
				return p, name, err
			}
			continue
		}
		names, err := v.Artifacts(p)
		if err != nil {
			return found, "", err
		}
		for _, n := range names {
			switch {
			case name == "" || !strings.HasPrefix(n, name) || n == full:
			case full != "":
				return found, "", layout.Invalid("give more of its digits", "several artifacts begin with %q", name)
			default:
				found, full = p, n
			}
		}
	}
	if full == "" {
		err = layout.NotFound("", "the tape has no artifact %.100q", name).Try(layout.ListArtifacts)
	}
	return found, full, err
}

func (v *Snapshot) hasArtifact(p layout.Phase, name string) (bool, error) {
	if v.Dir != "" {
		if st, err := os.Lstat(v.Path(p, filepath.Join(layout.ArtifactsDir, name))); err == nil && st.Mode().IsRegular() {
			return true, nil
		}
	}
	committed, err := v.CommittedArtifacts(p)
	_, ok := layout.FindEntry(committed, name)
	return ok, err
}

// InTree returns a snapshot of a commit that also finds the artifacts in a working tree that continues it.
func (v *Snapshot) InTree(dir string) *Snapshot {
	out := &Snapshot{Git: v.Git, Commit: v.Commit, Dir: dir, List: v.List, head: func() (*Snapshot, error) { return v, nil }}
	if list, err := ListPhases(dir); err == nil && len(list) > len(v.List) {
		out.List = list
	}
	return out
}

// AttachedText returns the text of an entry's artifacts for a search: the first 256 KiB of each that is text
// and can be read.
func (v *Snapshot) AttachedText(e layout.Entry) (out []byte) {
	if e.Kind == layout.KindAnchor || !bytes.Contains(e.Payload, []byte(layout.ArtifactKey)) {
		return nil
	}
	absent := jsonl.Strings(jsonl.Get(e.Meta, layout.MetaAbsent))
	for _, ref := range layout.Artifacts(e.Payload) {
		if len(out) >= attachedText || e.AnchorSeq < 1 || e.AnchorSeq > len(v.List) || slices.Contains(absent, ref.SHA256) {
			continue
		}
		if r, size, err := v.OpenArtifact(v.List[e.AnchorSeq-1], ref.SHA256); err == nil {
			out = appendText(out, r, size)
		}
	}
	return out
}

// How many bytes of artifacts AttachedText returns.
const (
	artifactText = 256 << 10 // of one artifact
	attachedText = 1 << 20   // of all artifacts of an entry, about
)

// appendText appends the beginning of content with size bytes and a line end, if it is text.
func appendText(dst []byte, r io.ReadCloser, size int64) []byte {
	defer r.Close()
	most := int(min(size, artifactText))
	dst = slices.Grow(dst, most+1)
	data := dst[len(dst):][:most]
	n, err := io.ReadFull(r, data)
	if data = data[:n]; n == artifactText { // cut at a blank: half a word, or half a secret, would not be recognized
		const longest = 8 << 10 // bytes of a word
		end := len(data)
		for end > artifactText-longest && data[end-1] > ' ' {
			end--
		}
		data = data[:end]
		for i := 1; i < utf8.UTFMax && !utf8.Valid(data); i++ {
			data = data[:len(data)-1] // a character that was cut
		}
	}
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) || !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return dst
	}
	return append(dst[:len(dst)+len(data)], '\n')
}

// content is the content of an artifact from git.
type content struct{ *bytes.Reader }

func (content) Close() error { return nil }

// OpenArtifact opens an artifact of a phase, and returns its size in bytes. Errors: ErrNotFound.
func (v *Snapshot) OpenArtifact(p layout.Phase, name string) (io.ReadSeekCloser, int64, error) {
	if v.Dir != "" {
		path := v.Path(p, filepath.Join(layout.ArtifactsDir, name))
		if st, err := os.Lstat(path); err == nil && st.Mode().IsRegular() {
			f, err := os.Open(path)
			if err == nil {
				return f, st.Size(), nil
			}
			if !errors.Is(err, fs.ErrNotExist) {
				return nil, 0, err
			}
		}
	}
	committed, err := v.CommittedArtifacts(p)
	if err != nil {
		return nil, 0, err
	}
	e, ok := layout.FindEntry(committed, name)
	if !ok {
		return nil, 0, layout.NotFound("", "the phase %s has no artifact %s", p.Folder, name).Try(layout.ListArtifacts)
	}
	data, err := v.Git.Blob(e.Hash)
	if err != nil {
		return nil, 0, layout.CorruptObject(v.Commit, err)
	}
	return content{bytes.NewReader(data)}, int64(len(data)), nil
}
