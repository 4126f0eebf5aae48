package resolve

import (
	"bytes"
	"errors"
	"slices"

	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/text/jsonl"
)

// Builder makes the trees of commits with more entries behind those of one, without a
// working tree. It alone divides a change's lines into files; a Tx writes them, too.
type Builder struct {
	Put   func(kind gitstore.Kind, data []byte) gitstore.Hash
	Load  func(c layout.Class) (LastFile, error)       // of the open phase
	Full  func(c layout.Class, f *LastFile) error      // if set, is given a full file instead of its being stored
	Keeps func(path string, h gitstore.Hash, size int) // if set, is told of each file that is stored

	Root, Anchors, Phase []gitstore.TreeEntry
	RootTree             gitstore.Hash // of what is there; zero if that has changed
	Added                int64         // entries
	Seq                  int
	Folder, Anchor       string
	Open                 [layout.ClassCount]*LastFile

	Artifacts []gitstore.TreeEntry // of the open phase
	Format    int                  // layout.ArtifactFormat once there are artifacts
	From      []*snapshot.Snapshot // where the artifacts are that lines refer to
	Loose     []gitstore.TreeEntry // such of which a working tree alone has the content
}

// LastFile is the last file of a class, held in memory until it is sealed.
type LastFile struct {
	N       int
	Data    []byte
	Stored  int // bytes of data that git has
	Written int // bytes of data that are in the working tree
}

// NewBuilder builds on a commit; put stores an object, or only hashes it.
func NewBuilder(v *snapshot.Snapshot, put func(gitstore.Kind, []byte) gitstore.Hash) (*Builder, error) {
	last := v.LastPhase()
	entries, err := v.Tree(last)
	if err != nil {
		return nil, err
	}
	b := &Builder{Put: put, Phase: slices.Clone(entries), Seq: last.Seq, Folder: last.Folder}
	b.Load = func(c layout.Class) (LastFile, error) {
		n := layout.LastSegments(b.Phase)[c]
		e, ok := layout.FindEntry(b.Phase, layout.SegmentName(c, n))
		if !ok {
			return LastFile{N: 1}, nil
		}
		data, err := v.Git.Blob(e.Hash)
		if err != nil {
			return LastFile{}, layout.CorruptObject(v.Commit, err)
		}
		return LastFile{N: n, Data: slices.Clip(data), Stored: len(data)}, nil
	}
	if err := b.On(v); err != nil {
		return nil, err
	}
	if b.Artifacts, err = v.CommittedArtifacts(last); err != nil {
		return nil, err
	}
	b.From = []*snapshot.Snapshot{v}
	anchor, err := snapshot.ReadAnchor(v, last, "")
	b.Anchor = anchor.Anchor
	return b, err
}

// On takes the tree of a commit, but for its open phase.
func (b *Builder) On(v *snapshot.Snapshot) (err error) {
	b.RootTree, b.Root = v.RootTree, slices.Clone(v.Root)
	for _, p := range v.List {
		b.Anchors = append(b.Anchors, folderEntry(p.Folder, p.Tree))
	}
	b.Format, err = v.Format()
	return err
}

// Clone is a builder that goes on from here, whatever becomes of this one.
func (b *Builder) Clone() (*Builder, error) {
	out := *b
	out.Root, out.Anchors, out.Phase = slices.Clone(b.Root), slices.Clone(b.Anchors), slices.Clone(b.Phase)
	out.Artifacts, out.From = slices.Clone(b.Artifacts), slices.Clone(b.From)
	out.Full, out.Keeps = nil, nil
	for c := range b.Open {
		file, err := b.last(layout.Class(c))
		if err != nil {
			return nil, err
		}
		its := *file
		its.Data = slices.Clip(its.Data)
		out.Open[c] = &its
	}
	return &out, nil
}

// AddLine adds an entry's line, without its newline. An anchor opens a phase.
func (b *Builder) AddLine(line []byte) error {
	e, err := jsonl.Parse(line)
	if err != nil {
		return err
	}
	line = append(slices.Clip(line), '\n')
	if e.Kind == layout.KindAnchor {
		b.OpenPhase(jsonl.GetString(e.Payload, "name"), line)
		return nil
	}
	for _, ref := range layout.Artifacts(e.Payload) {
		if err := b.Refer(ref.SHA256); err != nil {
			return err
		}
	}
	_, err = b.Add(layout.ClassOf(e.Kind), line)
	return err
}

// Refer has the open phase have an artifact that a line refers to. One that no side has may be
// missing: with a line that was stored elsewhere, its artifact need not have come.
func (b *Builder) Refer(name string) error {
	if _, ok := layout.FindEntry(b.Artifacts, name); ok {
		return nil
	}
	if e, ok := layout.FindEntry(b.Loose, name); ok {
		b.refer(e)
		return nil
	}
	for _, v := range b.From {
		p, _, err := v.FindArtifact(name)
		if errors.Is(err, layout.ErrNotFound) {
			continue
		}
		var committed []gitstore.TreeEntry
		if err == nil {
			committed, err = v.CommittedArtifacts(p)
		}
		if err != nil {
			return err
		}
		if e, ok := layout.FindEntry(committed, name); ok {
			b.refer(e)
			return nil
		}
	}
	return nil
}

func (b *Builder) refer(e gitstore.TreeEntry) {
	b.Artifacts = append(b.Artifacts, e)
	b.RootTree = gitstore.ZeroHash
}

// Add puts a line behind those of its class, and returns the file that it is in.
func (b *Builder) Add(c layout.Class, line []byte) (*LastFile, error) {
	file, err := b.last(c)
	if err != nil {
		return nil, err
	}
	if len(file.Data) >= layout.SealSize {
		if b.Full == nil {
			b.store(c)
		} else if err := b.Full(c, file); err != nil {
			return nil, err
		}
		file = &LastFile{N: file.N + 1, Data: make([]byte, 0, layout.SealSize+layout.SealSize/8)}
		b.Open[c] = file
	}
	file.Data = append(file.Data, line...)
	b.Added++
	b.RootTree = gitstore.ZeroHash
	return file, nil
}

func (b *Builder) last(c layout.Class) (*LastFile, error) {
	if b.Open[c] == nil {
		file, err := b.Load(c)
		if err != nil {
			return nil, err
		}
		b.Open[c] = &file
	}
	return b.Open[c], nil
}

// store stores what a class's last file has that git has not.
func (b *Builder) store(c layout.Class) {
	if file := b.Open[c]; file != nil && file.Stored < len(file.Data) {
		file.Stored = len(file.Data)
		b.Keep(&b.Phase, b.Folder, layout.SegmentName(c, file.N), b.Put(gitstore.KindBlob, slices.Clip(file.Data)), len(file.Data))
	}
}

// Keep puts a file that is stored into the tree of a phase.
func (b *Builder) Keep(phase *[]gitstore.TreeEntry, folder, name string, h gitstore.Hash, size int) {
	layout.SetEntry(phase, gitstore.TreeEntry{Name: name, Mode: gitstore.ModeFile, Hash: h})
	if b.Keeps != nil {
		b.Keeps(layout.AnchorsDir+"/"+folder+"/"+name, h, size)
	}
}

// KeepPhase stores the tree of a phase.
func (b *Builder) KeepPhase(folder string, entries []gitstore.TreeEntry) {
	layout.SetEntry(&b.Anchors, folderEntry(folder, b.Put(gitstore.KindTree, gitstore.EncodeTree(entries))))
}

// KeepArtifacts puts the artifacts of a phase into its tree, if it has any.
func (b *Builder) KeepArtifacts(phase *[]gitstore.TreeEntry, artifacts []gitstore.TreeEntry) {
	if len(artifacts) > 0 {
		b.Format = layout.ArtifactFormat
		layout.SetEntry(phase, folderEntry(layout.ArtifactsDir, b.Put(gitstore.KindTree, gitstore.EncodeTree(artifacts))))
	}
}

func folderEntry(name string, tree gitstore.Hash) gitstore.TreeEntry {
	return gitstore.TreeEntry{Name: name, Mode: gitstore.ModeDir, Hash: tree}
}

func (b *Builder) closePhase() {
	for c := range b.Open {
		b.store(layout.Class(c))
	}
	b.KeepArtifacts(&b.Phase, b.Artifacts)
	b.KeepPhase(b.Folder, b.Phase)
}

// OpenPhase opens the next phase with its anchor's line.
func (b *Builder) OpenPhase(name string, line []byte) {
	if b.Seq > 0 {
		b.closePhase()
	}
	b.Seq++
	b.Folder, b.Anchor = layout.FolderName(b.Seq, name), name
	for c := range b.Open {
		b.Open[c] = &LastFile{N: 1}
	}
	b.Phase, b.Artifacts = nil, nil
	b.Keep(&b.Phase, b.Folder, layout.AnchorFile, b.Put(gitstore.KindBlob, bytes.Clone(line)), len(line))
	b.Added++
	b.RootTree = gitstore.ZeroHash
}

// Tree stores what is not stored yet, and returns the root.
func (b *Builder) Tree() gitstore.Hash {
	if b.RootTree.IsZero() {
		b.closePhase()
		layout.SetEntry(&b.Root, folderEntry(layout.AnchorsDir, b.Put(gitstore.KindTree, gitstore.EncodeTree(b.Anchors))))
		b.RootTree = b.Put(gitstore.KindTree, gitstore.EncodeTree(b.Root))
	}
	return b.RootTree
}
