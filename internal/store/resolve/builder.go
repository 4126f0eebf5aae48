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

// Builder builds the trees of commits that add entries to another commit, without a working tree. It alone
// divides the lines of a change into files; a Tx then writes these to disk too.
type Builder struct {
	Put    func(kind gitstore.Kind, data []byte) gitstore.Hash
	Grown  func(before gitstore.Hash, data []byte) gitstore.Hash // if set, stores a file that continues a stored one
	Closed func(h gitstore.Hash)                                 // if Grown is set, gets files that will not grow any more
	Load   func(c layout.Class) (LastFile, error)                // reads a class's last file in the open phase
	Full   func(c layout.Class, f *LastFile) error               // if set, gets a full file instead of storing it
	Stored func(path string, h gitstore.Hash, size int)          // if set, called for each stored file

	// The root tree, its folder anchors, and the open phase's folder, without what is not stored yet.
	Root, Anchors, Phase []gitstore.TreeEntry
	RootTree             gitstore.Hash                // the tree as built so far; zero if it has changed since
	Added                int64                        // number of added entries
	Seq                  int                          // of the open phase; 0 before the first
	Folder, Anchor       string                       // of the open phase: its folder, and the name of its anchor
	Open                 [layout.ClassCount]*LastFile // the open phase's last files; nil if not loaded

	Artifacts []gitstore.TreeEntry // of the open phase
	Format    int                  // layout.ArtifactFormat once there are artifacts
	From      []*snapshot.Snapshot // where to look for artifacts that lines refer to
	Loose     []gitstore.TreeEntry // artifacts that are in no commit yet; their blobs are stored
}

// LastFile is the last file of a class, which is in memory until it is sealed.
type LastFile struct {
	N       int
	Data    []byte
	Stored  int           // bytes of Data that are in git
	Hash    gitstore.Hash // of these bytes, if Grown has stored them
	Written int           // bytes of Data that are in the working tree
}

// NewBuilder returns a builder that adds to a commit. put stores an object, or only hashes it.
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
	if err := b.StartFrom(v); err != nil {
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

// StartFrom begins with the tree of a commit. It leaves Phase and Artifacts, which are of the open phase, to
// the caller.
func (b *Builder) StartFrom(v *snapshot.Snapshot) (err error) {
	b.RootTree, b.Root = v.RootTree, slices.Clone(v.Root)
	for _, p := range v.List {
		b.Anchors = append(b.Anchors, folderEntry(p.Folder, p.Tree))
	}
	b.Format, err = v.Format()
	return err
}

// Clone returns an independent copy, without Full, Stored, Grown and Closed.
func (b *Builder) Clone() (*Builder, error) {
	out := *b
	out.Root, out.Anchors, out.Phase = slices.Clone(b.Root), slices.Clone(b.Anchors), slices.Clone(b.Phase)
	out.Artifacts, out.From = slices.Clone(b.Artifacts), slices.Clone(b.From)
	out.Full, out.Stored, out.Grown, out.Closed = nil, nil, nil, nil
	for c := range b.Open {
		file, err := b.last(layout.Class(c))
		if err != nil {
			return nil, err
		}
		copied := *file
		copied.Data = slices.Clip(copied.Data)
		out.Open[c] = &copied
	}
	return &out, nil
}

// AddLine adds an entry's line, given without its newline. An anchor opens a phase.
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

// Refer adds to the open phase an artifact that a line refers to. If the artifact is nowhere, it does nothing:
// a line may have come here without its artifact.
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

// Add appends a line, with its newline, to a class, and returns the file that the line is in.
func (b *Builder) Add(c layout.Class, line []byte) (*LastFile, error) {
	file, err := b.last(c)
	if err != nil {
		return nil, err
	}
	if len(file.Data) >= layout.SealSize {
		if b.Full == nil {
			b.store(c)
			b.close(file)
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

// store stores a class's last file if git does not have all of it.
func (b *Builder) store(c layout.Class) {
	if file := b.Open[c]; file != nil && file.Stored < len(file.Data) {
		file.Stored = len(file.Data)
		if b.Grown == nil {
			file.Hash = b.Put(gitstore.KindBlob, slices.Clip(file.Data))
		} else {
			file.Hash = b.Grown(file.Hash, slices.Clip(file.Data))
		}
		b.SetFile(&b.Phase, b.Folder, layout.SegmentName(c, file.N), file.Hash, len(file.Data))
	}
}

func (b *Builder) close(file *LastFile) {
	if file != nil && b.Closed != nil && !file.Hash.IsZero() {
		b.Closed(file.Hash)
	}
}

// CloseFiles says that nothing more is added.
func (b *Builder) CloseFiles() {
	for _, file := range b.Open {
		b.close(file)
	}
}

// SetFile puts a stored file into the tree of a phase.
func (b *Builder) SetFile(phase *[]gitstore.TreeEntry, folder, name string, h gitstore.Hash, size int) {
	layout.SetEntry(phase, gitstore.TreeEntry{Name: name, Mode: gitstore.ModeFile, Hash: h})
	if b.Stored != nil {
		b.Stored(layout.AnchorsDir+"/"+folder+"/"+name, h, size)
	}
}

// StorePhase stores the tree of a phase.
func (b *Builder) StorePhase(folder string, entries []gitstore.TreeEntry) {
	layout.SetEntry(&b.Anchors, folderEntry(folder, b.Put(gitstore.KindTree, gitstore.EncodeTree(entries))))
}

// StoreArtifacts stores the artifacts of a phase, if it has any, and puts them into its tree.
func (b *Builder) StoreArtifacts(phase *[]gitstore.TreeEntry, artifacts []gitstore.TreeEntry) {
	if len(artifacts) > 0 {
		b.Format = layout.ArtifactFormat
		layout.SetEntry(phase, folderEntry(layout.ArtifactsDir, b.Put(gitstore.KindTree, gitstore.EncodeTree(artifacts))))
	}
}

func folderEntry(name string, tree gitstore.Hash) gitstore.TreeEntry {
	return gitstore.TreeEntry{Name: name, Mode: gitstore.ModeDir, Hash: tree}
}

func (b *Builder) storeOpenPhase() {
	for c := range b.Open {
		b.store(layout.Class(c))
	}
	b.StoreArtifacts(&b.Phase, b.Artifacts)
	b.StorePhase(b.Folder, b.Phase)
}

// OpenPhase opens the next phase with its anchor's line.
func (b *Builder) OpenPhase(name string, line []byte) {
	if b.Seq > 0 {
		b.storeOpenPhase()
		b.CloseFiles()
	}
	b.Seq++
	b.Folder, b.Anchor = layout.FolderName(b.Seq, name), name
	for c := range b.Open {
		b.Open[c] = &LastFile{N: 1}
	}
	b.Phase, b.Artifacts = nil, nil
	b.SetFile(&b.Phase, b.Folder, layout.AnchorFile, b.Put(gitstore.KindBlob, bytes.Clone(line)), len(line))
	b.Added++
	b.RootTree = gitstore.ZeroHash
}

// Tree stores what is not stored yet, and returns the root tree.
func (b *Builder) Tree() gitstore.Hash {
	if b.RootTree.IsZero() {
		b.storeOpenPhase()
		layout.SetEntry(&b.Root, folderEntry(layout.AnchorsDir, b.Put(gitstore.KindTree, gitstore.EncodeTree(b.Anchors))))
		b.RootTree = b.Put(gitstore.KindTree, gitstore.EncodeTree(b.Root))
	}
	return b.RootTree
}
