package rewrite

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/tags"
	"tape/internal/store/workspace"
)

// Rewriter makes a history anew in which some texts are masked. What it gives follows from
// the old history and from what is masked alone: who rewrites the same gets the same
// commits. A commit keeps its author, dates, message and number of parents; one that
// neither has a masked text nor follows one that has keeps its id, and every tree and file
// without one is used as it is.
type Rewriter struct {
	s    *workspace.Store
	mask *Masker
	put  func(kind gitstore.Kind, data []byte) gitstore.Hash

	Commits map[gitstore.Hash]gitstore.Hash // those that changed
	Done    map[gitstore.Hash]bool          // commits that were looked at
	trees   map[gitstore.Hash]gitstore.Hash // root trees, and folders under anchors
	Phases  map[PhaseTree]PhaseTree
	Blobs   map[gitstore.Hash]maskedBlob
	recent  [8]maskedFile
	next    int                       // in recent
	files   map[string]maskedArtifact // by the name that they had
	names   map[string]string         // of anchors, where they changed
	Folders map[string]string         // of phases, likewise
	Signed  int                       // signatures that are no more
	Kept    int                       // commits that have it where nothing is rewritten: names of people, tapes and forks
}

// PhaseTree is the folder of a phase.
type PhaseTree struct {
	Folder string
	Tree   gitstore.Hash
}

// NewRewriter makes histories anew with what a masker leaves of texts; put stores an object,
// or only hashes it.
func NewRewriter(s *workspace.Store, m *Masker, put func(gitstore.Kind, []byte) gitstore.Hash) *Rewriter {
	return &Rewriter{s: s, mask: m, put: put,
		Commits: map[gitstore.Hash]gitstore.Hash{}, Done: map[gitstore.Hash]bool{},
		trees: map[gitstore.Hash]gitstore.Hash{}, Phases: map[PhaseTree]PhaseTree{},
		Blobs: map[gitstore.Hash]maskedBlob{}, files: map[string]maskedArtifact{}, names: map[string]string{}, Folders: map[string]string{}}
}

// To is what became of a commit.
func (r *Rewriter) To(h gitstore.Hash) gitstore.Hash {
	if next, ok := r.Commits[h]; ok {
		return next
	}
	return h
}

// Changed reports whether a commit became another one.
func (r *Rewriter) Changed(h gitstore.Hash) bool { return r.To(h) != h }

// History rewrites a commit and all before it. With followers only, those alone are
// rewritten that follow a commit which was: the others are of another tape.
func (r *Rewriter) History(ctx context.Context, head gitstore.Hash, followersOnly bool) error {
	for stack := []gitstore.Hash{head}; len(stack) > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		h := stack[len(stack)-1]
		if r.Done[h] {
			stack = stack[:len(stack)-1]
			continue
		}
		_, raw, err := r.s.Git().Read(h)
		if err != nil {
			return layout.CorruptObject(h, err)
		}
		c, err := gitstore.DecodeCommit(raw)
		if err != nil {
			return layout.CorruptObject(h, err)
		}
		if i := slices.IndexFunc(c.Parents, func(p gitstore.Hash) bool { return !r.Done[p] }); i >= 0 {
			stack = append(stack, c.Parents[i])
			continue
		}
		if err := r.commit(ctx, h, c, raw, followersOnly); err != nil {
			return err
		}
		r.Done[h] = true
	}
	return nil
}

func (r *Rewriter) commit(ctx context.Context, h gitstore.Hash, c gitstore.Commit, raw []byte, followersOnly bool) error {
	follows := slices.ContainsFunc(c.Parents, r.Changed)
	if followersOnly && !follows {
		return nil
	}
	tree, err := r.root(ctx, c.Tree)
	if err != nil {
		return err
	}
	message, err := r.message(ctx, h, c.Message)
	if err != nil {
		return err
	}
	if follows || tree != c.Tree || message != c.Message {
		raw = r.encode(string(raw), tree, message)
		r.Commits[h] = r.put(gitstore.KindCommit, raw)
	}
	if !r.mask.Learning && r.mask.Holds(raw) {
		r.Kept++
	}
	return nil
}

// encode gives the bytes of a commit with another tree, other parents and another message.
// What else its head says stays, but signatures, which would be wrong.
func (r *Rewriter) encode(raw string, tree gitstore.Hash, message string) []byte {
	head, _, _ := strings.Cut(raw, "\n\n")
	var b strings.Builder
	dropped := false
	for line := range strings.SplitSeq(head, "\n") {
		key, value, _ := strings.Cut(line, " ")
		if key != "" { // else the line before it goes on
			if dropped = key == "gpgsig" || key == "gpgsig-sha256" || key == "mergetag"; dropped {
				r.Signed++
			}
		}
		switch h, err := gitstore.ParseHash(value); {
		case dropped:
			continue
		case key == "tree":
			line = "tree " + tree.String()
		case key == "parent" && err == nil:
			line = "parent " + r.To(h).String()
		}
		b.WriteString(line + "\n")
	}
	return []byte(b.String() + "\n" + message)
}

const handoffSubject = "handoff: "

// message masks a commit's message. In the trailers of this program the names of anchors
// and the ids of commits follow what they name, and the text of a handoff its anchor.
func (r *Rewriter) message(ctx context.Context, h gitstore.Hash, message string) (string, error) {
	body, trailers := message, "" // with the empty line before them
	if i := strings.LastIndex(strings.TrimRight(message, "\n"), "\n\n"); i >= 0 && strings.Contains(message[i:], "\nTape-") {
		body, trailers = message[:i], message[i:]
	}
	subject, text, long := strings.Cut(body, "\n\n")
	if text != "" && trailers != "" {
		was, is, err := r.anchorOf(ctx, h, "")
		if err != nil {
			return "", err
		}
		if tags.CommitText(was) == text {
			text = tags.CommitText(is)
		}
	}
	lines := strings.Split(trailers, "\n")
	for i, line := range lines {
		key, value, _ := strings.Cut(line, ": ")
		was := layout.DecodeTrailer(value)
		name, renamed := r.names[was]
		h, err := gitstore.ParseHash(value)
		switch {
		case key == layout.TrailerAnchor && renamed:
			lines[i] = key + ": " + layout.EncodeTrailer(name)
			if subject == handoffSubject+layout.OneLine(was) {
				subject = handoffSubject + layout.OneLine(name)
			}
		case key == layout.TrailerDone && err == nil:
			lines[i] = key + ": " + r.To(h).String()
		case !strings.HasPrefix(line, "Tape-"):
			lines[i] = r.mask.Text(line)
		}
	}
	if long {
		subject += "\n\n" + text
	}
	return r.mask.Text(subject) + strings.Join(lines, "\n"), nil
}

// Tag rewrites the tag of a rewritten commit, under a name, without a wrong signature.
func (r *Rewriter) Tag(ctx context.Context, h gitstore.Hash, name string) (gitstore.Hash, error) {
	tag, err := r.s.Git().Tag(h)
	if err != nil {
		return h, err
	}
	if i := strings.Index("\n"+tag.Message, "\n-----BEGIN "); i >= 0 {
		tag.Message = tag.Message[:i]
		r.Signed++
	}
	folder := path.Base(tag.Name)
	was, is, err := r.anchorOf(ctx, tag.Object, folder)
	switch {
	case err != nil:
		return h, err
	case string(was) != string(is):
		e, _, err := snapshot.DecodeAnchor(is, folder)
		if err != nil {
			return h, err
		}
		tag.Message = tags.Message(e)
	default:
		tag.Message = r.mask.Text(tag.Message)
	}
	tag.Object, tag.Name = r.To(tag.Object), name
	return r.put(gitstore.KindTag, gitstore.EncodeTag(tag)), nil
}

// anchorOf is the line of the anchor of a commit's phase, by default that of the last one, as
// it was and as it is; nil where the commit has no such phase.
func (r *Rewriter) anchorOf(ctx context.Context, h gitstore.Hash, folder string) (was, is []byte, err error) {
	v, err := snapshot.AtCommit(r.s, h)
	if errors.Is(err, layout.ErrCorrupt) {
		return nil, nil, nil // not a tape's commit, or one that git made
	}
	if err != nil {
		return nil, nil, err
	}
	p := v.LastPhase()
	if folder != "" {
		seq, _, _ := layout.ParseFolder(folder)
		var ok bool
		if p, ok = v.Phase(seq, folder); !ok {
			return nil, nil, nil
		}
	}
	if was, err = v.AnchorLine(p); err == nil {
		is, err = r.lines(ctx, was)
	}
	return was, is, err
}
