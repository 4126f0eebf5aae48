package audit

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/writer"
	"tape/internal/text/jsonl"
)

func isArtifactsDir(e gitstore.TreeEntry) bool { return e.Name == layout.ArtifactsDir && e.IsDir() }

func isArtifact(e gitstore.TreeEntry) bool {
	return layout.IsArtifactName(e.Name) && e.Mode == gitstore.ModeFile
}

// artifactsOf lists the artifacts of a phase. It refuses a folder with anything else in it.
func (a *audit) artifactsOf(phase []gitstore.TreeEntry, where string) ([]gitstore.TreeEntry, error) {
	folder, ok := layout.FindEntry(phase, layout.ArtifactsDir)
	if !ok {
		return nil, nil
	}
	out, err := a.folder(folder.Hash, where+"/"+layout.ArtifactsDir)
	for _, e := range out {
		if !isArtifact(e) {
			return nil, &layout.CorruptError{File: where + "/" + layout.ArtifactsDir, Fix: takeOut,
				Msg: fmt.Sprintf("%.100q: only plain files named after the SHA-256 of their content belong there", e.Name)}
		}
	}
	return out, err
}

// artifactSizes refuses artifacts of a hostile source that are over the size limit.
func (a *audit) artifactSizes(phase []gitstore.TreeEntry, where string) error {
	list, err := a.artifactsOf(phase, where)
	for _, e := range list {
		if err == nil {
			err = a.Small(e.Hash, where+"/"+layout.ArtifactsDir+"/"+e.Name, layout.ArtifactLimit, "")
		}
	}
	return err
}

// checkArtifacts checks the artifacts of a phase: none was removed, the new ones match their names, and
// none is missing that a new entry refers to.
func (g *growth) checkArtifacts() error {
	was, err := snapshot.ArtifactsOf(g.s.Git(), g.was)
	if err != nil {
		return &layout.CorruptError{File: g.where, Msg: err.Error()}
	}
	is, err := g.artifactsOf(g.files, g.where)
	if err != nil {
		return err
	}
	for _, e := range was {
		if now, ok := layout.FindEntry(is, e.Name); !ok || now != e {
			return violation(g.where+"/"+layout.ArtifactsDir+"/"+e.Name, "the commit removed or changed an artifact")
		}
	}
	for _, e := range is {
		if slices.Contains(was, e) {
			continue
		}
		where := g.where + "/" + layout.ArtifactsDir + "/" + e.Name
		data, err := g.file(e.Hash, where, layout.ArtifactLimit)
		if err != nil {
			return err
		}
		if !writer.MatchesArtifact(e.Name, data) {
			return violation(where, "the content does not match the name")
		}
	}
	for _, ref := range g.refs {
		if _, ok := layout.FindEntry(is, ref.name); !ok {
			return missingArtifact(g.where, ref)
		}
	}
	return nil
}

// reference is an entry's reference to an artifact, which its phase must have.
type reference struct {
	id   int64
	name string
}

// referencesOf returns the references of an entry, without those to artifacts that its meta lists as
// missing. An anchor has none.
func referencesOf(id int64, kind string, payload, meta []byte) []reference {
	if kind == layout.KindAnchor || !bytes.Contains(payload, []byte(layout.ArtifactKey)) {
		return nil
	}
	var out []reference
	absent := jsonl.Strings(jsonl.Get(meta, layout.MetaAbsent))
	for _, a := range layout.Artifacts(payload) {
		if !slices.Contains(absent, a.SHA256) {
			out = append(out, reference{id, a.SHA256})
		}
	}
	return out
}

// artifactFix is the hint for a lost or damaged artifact. A repair brings back only what git has.
const artifactFix = "if you have the artifact's file elsewhere, copy it to anchors/PHASE/artifacts/ under that name"

func missingArtifact(where string, ref reference) error {
	return &layout.CorruptError{File: where, Msg: fmt.Sprintf("entry @%d refers to artifact %s, which is missing", ref.id, ref.name), Fix: artifactFix}
}

// sameArtifacts checks that the working tree has the artifacts that are committed for a phase. The
// working tree of a fork need not have them.
func (v *verifier) sameArtifacts(tape string, onDisk, committed *snapshot.Snapshot, p layout.Phase) {
	inGit, err := committed.CommittedArtifacts(p)
	v.problem(tape, err)
	for _, e := range inGit {
		path := onDisk.Path(p, filepath.Join(layout.ArtifactsDir, e.Name))
		if _, err := os.Lstat(path); err != nil && onDisk.Under == nil {
			v.problem(tape, &layout.CorruptError{File: path, Msg: "the artifact cannot be read: " + err.Error()})
		}
	}
}

// artifactsOnDisk checks that the artifacts in the folder of a phase match their names.
func (v *verifier) artifactsOnDisk(tape string, snap *snapshot.Snapshot, p layout.Phase) {
	if snap.Dir == "" {
		return
	}
	names, err := snapshot.ArtifactsIn(snap.Path(p, ""))
	v.problem(tape, err)
	for _, name := range names {
		path := snap.Path(p, filepath.Join(layout.ArtifactsDir, name))
		v.report.Checked.Files++
		st, err := os.Lstat(path)
		if err == nil && !st.Mode().IsRegular() {
			err = layout.NotPlain(path)
		}
		var data []byte
		if err == nil {
			data, err = os.ReadFile(path)
		}
		if err == nil && !writer.MatchesArtifact(name, data) {
			err = &layout.CorruptError{File: path, Msg: "the content does not match the name", Fix: artifactFix}
		}
		v.problem(tape, err)
	}
}
