package repo

import (
	"context"
	"errors"
	"slices"
	"strings"

	"tape/internal/gitstore"
)

// rewriter makes a history anew in which some texts are masked. What it gives follows from
// the old history and from what is masked alone: who rewrites the same gets the same
// commits. A commit keeps its author, dates, message and number of parents; one that
// neither has a masked text nor follows one that has keeps its id, and every tree and file
// without one is used as it is.
type rewriter struct {
	s    *Store
	mask *masker
	put  func(kind gitstore.Kind, data []byte) gitstore.Hash

	commits map[gitstore.Hash]gitstore.Hash // those that changed
	done    map[gitstore.Hash]bool          // commits that were looked at
	trees   map[gitstore.Hash]gitstore.Hash // root trees, and folders under anchors
	phases  map[phaseTree]phaseTree
	blobs   map[gitstore.Hash]maskedBlob
	recent  [8]maskedFile
	next    int               // in recent
	names   map[string]string // of anchors, where they changed
	folders map[string]string // of phases, likewise
	signed  int               // signatures that are no more
	kept    int               // commits that have it where nothing is rewritten: names of people, tapes and forks
}

// phaseTree is the folder of a phase.
type phaseTree struct {
	folder string
	tree   gitstore.Hash
}

func (s *Store) newRewriter(m *masker, put func(gitstore.Kind, []byte) gitstore.Hash) *rewriter {
	return &rewriter{s: s, mask: m, put: put,
		commits: map[gitstore.Hash]gitstore.Hash{}, done: map[gitstore.Hash]bool{},
		trees: map[gitstore.Hash]gitstore.Hash{}, phases: map[phaseTree]phaseTree{},
		blobs: map[gitstore.Hash]maskedBlob{}, names: map[string]string{}, folders: map[string]string{}}
}

// to is what became of a commit.
func (r *rewriter) to(h gitstore.Hash) gitstore.Hash {
	if next, ok := r.commits[h]; ok {
		return next
	}
	return h
}

// history rewrites a commit and all before it. With followers only, those alone are
// rewritten that follow a commit which was: the others are of another tape.
func (r *rewriter) history(ctx context.Context, head gitstore.Hash, followersOnly bool) error {
	type step struct {
		h       gitstore.Hash
		parents []gitstore.Hash // not looked at yet
	}
	parents := func(h gitstore.Hash) ([]gitstore.Hash, error) {
		c, err := r.s.git.Commit(h)
		if err != nil {
			return nil, corruptObject(h, err)
		}
		return c.Parents, nil
	}
	if r.done[head] {
		return nil
	}
	list, err := parents(head)
	if err != nil {
		return err
	}
	for stack := []step{{head, list}}; len(stack) > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		top := &stack[len(stack)-1]
		if len(top.parents) > 0 {
			h := top.parents[0]
			top.parents = top.parents[1:]
			if !r.done[h] {
				if list, err = parents(h); err != nil {
					return err
				}
				stack = append(stack, step{h, list})
			}
			continue
		}
		if !r.done[top.h] {
			if err := r.commit(ctx, top.h, followersOnly); err != nil {
				return err
			}
			r.done[top.h] = true
		}
		stack = stack[:len(stack)-1]
	}
	return nil
}

// commit rewrites a commit whose parents were.
func (r *rewriter) commit(ctx context.Context, h gitstore.Hash, followersOnly bool) error {
	_, raw, err := r.s.git.Read(h)
	if err != nil {
		return corruptObject(h, err)
	}
	c, err := gitstore.DecodeCommit(raw)
	if err != nil {
		return corruptObject(h, err)
	}
	follows := slices.ContainsFunc(c.Parents, func(p gitstore.Hash) bool { return r.to(p) != p })
	if followersOnly && !follows {
		return nil
	}
	tree, err := r.root(ctx, c.Tree)
	if err != nil {
		return err
	}
	message := r.message(c.Message)
	if follows || tree != c.Tree || message != c.Message {
		raw = r.encode(string(raw), tree, message)
		r.commits[h] = r.put(gitstore.KindCommit, raw)
	}
	if !r.mask.learning && r.mask.holds(raw) {
		r.kept++
	}
	return nil
}

// encode gives the bytes of a commit with another tree, other parents and another message.
// What else its head says stays, but signatures, which would be wrong.
func (r *rewriter) encode(raw string, tree gitstore.Hash, message string) []byte {
	head, _, _ := strings.Cut(raw, "\n\n")
	var b strings.Builder
	dropped := false
	for line := range strings.SplitSeq(head, "\n") {
		if strings.HasPrefix(line, " ") {
			if !dropped {
				b.WriteString(line + "\n")
			}
			continue
		}
		key, value, _ := strings.Cut(line, " ")
		dropped = key == "gpgsig" || key == "gpgsig-sha256" || key == "mergetag"
		switch h, err := gitstore.ParseHash(value); {
		case dropped:
			r.signed++
		case key == "tree":
			b.WriteString("tree " + tree.String() + "\n")
		case key == "parent" && err == nil:
			b.WriteString("parent " + r.to(h).String() + "\n")
		default:
			b.WriteString(line + "\n")
		}
	}
	return []byte(b.String() + "\n" + message)
}

// handoffSubject is what the subject of a handoff begins with.
const handoffSubject = "handoff: "

// cutTrailers splits the trailers of this program off a commit's message, with the empty
// line before them.
func cutTrailers(message string) (body, trailers string) {
	i := strings.LastIndex(strings.TrimRight(message, "\n"), "\n\n")
	if i >= 0 && strings.Contains(message[i:], "\nTape-") {
		return message[:i], message[i:]
	}
	return message, ""
}

// message masks a commit's message. In the trailers of this program the names of anchors
// and the ids of commits follow what they name.
func (r *rewriter) message(message string) string {
	body, trailers := cutTrailers(message)
	for _, was := range sortedKeys(r.names) {
		if body == handoffSubject+oneLine(was) {
			body = handoffSubject + oneLine(r.names[was])
			break
		}
	}
	body = r.mask.text(body)
	lines := strings.Split(trailers, "\n")
	for i, line := range lines {
		key, value, _ := strings.Cut(line, ": ")
		name, renamed := r.names[decodeTrailer(value)]
		h, err := gitstore.ParseHash(value)
		switch {
		case key == trailerAnchor && renamed:
			lines[i] = key + ": " + encodeTrailer(name)
		case key == trailerDone && err == nil:
			lines[i] = key + ": " + r.to(h).String()
		case !strings.HasPrefix(line, "Tape-"):
			lines[i] = r.mask.text(line)
		}
	}
	return body + strings.Join(lines, "\n")
}

// tag rewrites an annotated tag of a commit that was rewritten, under a name; its
// signature would be wrong.
func (r *rewriter) tag(ctx context.Context, h gitstore.Hash, name string) (gitstore.Hash, error) {
	tag, err := r.s.git.Tag(h)
	if err != nil {
		return h, err
	}
	if i := strings.Index("\n"+tag.Message, "\n-----BEGIN "); i >= 0 {
		tag.Message = tag.Message[:i]
		r.signed++
	}
	folder := tag.Name[strings.LastIndexByte(tag.Name, '/')+1:]
	was, is, err := r.anchorOf(ctx, tag.Object, folder)
	switch {
	case err != nil:
		return h, err
	case string(was) != string(is):
		e, err := parseAnchor(is)
		if err != nil {
			return h, err
		}
		tag.Message = tagMessage(e)
	default:
		tag.Message = r.mask.text(tag.Message)
	}
	tag.Object, tag.Name = r.to(tag.Object), name
	return r.put(gitstore.KindTag, gitstore.EncodeTag(tag)), nil
}

// anchorOf is the line of the anchor of a commit's phase, as it was and as it is; nil
// where the commit has no such phase.
func (r *rewriter) anchorOf(ctx context.Context, h gitstore.Hash, folder string) (was, is []byte, err error) {
	v, err := r.s.commitView(h)
	if errors.Is(err, ErrCorrupt) {
		return nil, nil, nil // not a tape's commit, or one that git made
	}
	if err != nil {
		return nil, nil, err
	}
	for _, p := range v.list {
		if p.folder == folder {
			if was, err = v.anchorLine(p); err != nil {
				return nil, nil, err
			}
			is, err = r.lines(ctx, was)
			return was, is, err
		}
	}
	return nil, nil, nil
}
