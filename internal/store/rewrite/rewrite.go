package rewrite

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/about"
	"tape/internal/store/commits"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
)

// Rewriter rewrites a history with some texts masked. The result follows from the old history and the
// masked texts alone: whoever rewrites the same gets the same commits. A commit keeps its author,
// dates and number of parents. It keeps its id if neither it nor its ancestors contain a
// masked text, and trees and files without one are reused.
type Rewriter struct {
	s    *workspace.Store
	mask *Masker
	put  func(kind gitstore.Kind, data []byte) gitstore.Hash

	Commits map[gitstore.Hash]gitstore.Hash // changed commits, by their old hash
	Done    map[gitstore.Hash]bool          // commits that were handled
	trees   map[gitstore.Hash]gitstore.Hash // root trees, their folders anchors, and folders that are not a tape's
	Phases  map[PhaseTree]PhaseTree
	Blobs   map[gitstore.Hash]maskedBlob
	recent  [8]maskedFile
	next    int                       // the slot of recent to fill next
	files   map[string]maskedArtifact // artifacts, by their old names
	names   map[string]string         // changed names of anchors, by the old ones
	Folders map[string]string         // changed folders of phases, by the old ones
	Signed  int                       // how many signatures were dropped
	Kept    int                       // commits that still contain a masked text in the name of a tape or fork
}

// PhaseTree is the folder of a phase.
type PhaseTree struct {
	Folder string
	Tree   gitstore.Hash
}

// NewRewriter returns a Rewriter that masks texts with m; put stores an object, or only hashes it.
func NewRewriter(s *workspace.Store, m *Masker, put func(gitstore.Kind, []byte) gitstore.Hash) *Rewriter {
	return &Rewriter{s: s, mask: m, put: put,
		Commits: map[gitstore.Hash]gitstore.Hash{}, Done: map[gitstore.Hash]bool{},
		trees: map[gitstore.Hash]gitstore.Hash{}, Phases: map[PhaseTree]PhaseTree{},
		Blobs: map[gitstore.Hash]maskedBlob{}, files: map[string]maskedArtifact{}, names: map[string]string{}, Folders: map[string]string{}}
}

// To returns the commit that a commit became; the commit itself if it was not changed.
func (r *Rewriter) To(h gitstore.Hash) gitstore.Hash {
	if next, ok := r.Commits[h]; ok {
		return next
	}
	return h
}

// Changed reports whether a commit became another.
func (r *Rewriter) Changed(h gitstore.Hash) bool { return r.To(h) != h }

// History rewrites a commit and its ancestors. With followersOnly, it rewrites only descendants of
// commits that were rewritten, because the others belong to other tapes.
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
	message, err := r.message(ctx, h, c.Message, tree != c.Tree)
	if err != nil {
		return err
	}
	names := r.people(string(raw)) // also when learning
	if follows || tree != c.Tree || message != c.Message || names {
		raw = r.encode(string(raw), tree, message)
		r.Commits[h] = r.put(gitstore.KindCommit, raw)
	}
	if !r.mask.Learning && r.mask.Holds(raw) {
		r.Kept++
	}
	return nil
}

// people reports whether the name or the address of a commit's author or committer has a masked text.
func (r *Rewriter) people(raw string) (has bool) {
	head, _, _ := strings.Cut(raw, "\n\n")
	for line := range strings.SplitSeq(head, "\n") {
		if hasPerson(line) && r.mask.Text(line) != line {
			has = true
		}
	}
	return has
}

func hasPerson(line string) bool {
	return strings.HasPrefix(line, "author ") || strings.HasPrefix(line, "committer ") || strings.HasPrefix(line, "tagger ")
}

// encode returns the raw commit with another tree, parents and message, and without masked texts in names. Other
// headers stay, except signatures, which would be wrong.
func (r *Rewriter) encode(raw string, tree gitstore.Hash, message string) []byte {
	head, _, _ := strings.Cut(raw, "\n\n")
	var b strings.Builder
	dropped := false
	for line := range strings.SplitSeq(head, "\n") {
		key, value, _ := strings.Cut(line, " ")
		if key != "" { // otherwise it continues the previous line
			if dropped = key == "gpgsig" || key == "gpgsig-sha256" || key == "mergetag"; dropped {
				r.Signed++
			}
		}
		switch h, err := gitstore.ParseHash(value); {
		case dropped:
			continue
		case hasPerson(line):
			line = r.mask.Text(line)
		case key == "tree":
			line = "tree " + tree.String()
		case key == "parent" && err == nil:
			line = "parent " + r.To(h).String()
		}
		b.WriteString(line + "\n")
	}
	return []byte(b.String() + "\n" + message)
}

const (
	handoffSubject = "handoff: "
	purgedSubject  = "a request that was purged"
)

// asks reports whether a subject is that of the turn of a request that is masked as a whole.
func (r *Rewriter) asks(subject string) bool {
	asked := strings.TrimPrefix(subject, about.Continued)
	if i := strings.LastIndex(asked, about.AndMore); i >= 0 && strings.HasSuffix(asked, " more)") {
		asked = asked[:i]
	}
	return !r.mask.Learning && slices.ContainsFunc(r.mask.requests, func(e layout.Entry) bool {
		return about.TurnSubject(e, r.mask.find) == asked
	})
}

// message masks a commit's message. Trailers of this program follow renamed anchors and rewritten
// commits, and the text of a handoff follows its anchor. The subject of a turn goes with its request, and what was done
// in it with entries of changed files that are masked as a whole.
func (r *Rewriter) message(ctx context.Context, h gitstore.Hash, message string, changed bool) (string, error) {
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
		switch {
		case commits.CommitText(was) == text:
			text = commits.CommitText(is)
		case changed && len(r.mask.Whole) > 0 && !r.mask.Learning:
			text, long = "", false
		}
	}
	if trailers != "" && r.asks(subject) {
		subject, text, long = purgedSubject, "", false
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
		case key == layout.TrailerCompletes && err == nil:
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

// Tag rewrites an annotated tag under the given name, and drops its signature. It follows its commit and its anchor.
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
		tag.Message = commits.TagMessage(e)
	default:
		tag.Message = r.mask.Text(tag.Message)
	}
	tag.Object, tag.Name = r.To(tag.Object), name
	tag.Tagger.Name, tag.Tagger.Email = r.mask.Text(tag.Tagger.Name), r.mask.Text(tag.Tagger.Email)
	return r.put(gitstore.KindTag, gitstore.EncodeTag(tag)), nil
}

// anchorOf returns the anchor line of a commit's phase (the last one if folder is empty), before and
// after masking; nil if the commit has no such phase.
func (r *Rewriter) anchorOf(ctx context.Context, h gitstore.Hash, folder string) (was, is []byte, err error) {
	v, err := snapshot.AtCommit(r.s, h)
	if errors.Is(err, layout.ErrCorrupt) {
		return nil, nil, nil // not a commit of a tape, or made by git
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
