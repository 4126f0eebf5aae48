package mcpserver

import (
	"context"
	"errors"
	"strings"

	"tape/internal/sessions/catalog"
	"tape/internal/show/display"
	"tape/internal/store/layout"
	"tape/repo"
)

// errorText returns the text of an error for a model, with its hints.
func (s *server) errorText(err error) string {
	lines := []string{"error: " + err.Error()}
	for _, h := range repo.Hints(err) {
		lines = append(lines, "hint: "+s.hint(h))
	}
	return display.Text(strings.Join(lines, "\n"))
}

// hint returns the words of a hint. It names the tool that helps, if there is one.
func (s *server) hint(h repo.Hint) string {
	switch h.Kind {
	case "":
		return h.Text
	case layout.ListTapes, layout.ListTapesAndForks, layout.ListAll, layout.NameFork, layout.ListForks:
		return "tape_list lists the tapes; tape_list tape=NAME lists the anchors and forks of one"
	case layout.ListAnchors, layout.ListAnchorsInOrder, layout.NamePhase, layout.ShowOpenPhase:
		return "tape_list tape=NAME lists its anchors"
	case layout.ShowEntryCount:
		return "tape_info says how many there are"
	case layout.ShowEntry:
		return "tape_read from=@id shows an entry"
	case layout.HandOffInstead:
		return "tape_handoff writes anchors"
	case layout.AllowMore:
		return "allow more with max_tokens, or use tape_read"
	case layout.CloseForks:
		return "first merge or discard its forks"
	}
	return s.Hint(h)
}

// suggest adds similar names to an error about a tape that does not exist.
func (s *server) suggest(ctx context.Context, store *repo.Store, name string, err error) error {
	if !errors.Is(err, repo.ErrNotFound) {
		return err
	}
	all, listErr := catalog.All(ctx, store)
	if listErr != nil {
		return err
	}
	if meant := catalog.Nearest(name, catalog.Names(all)); len(meant) > 0 {
		return layout.NotFound("did you mean "+strings.Join(meant, " or ")+"?", "there is no tape %q", name)
	}
	return err
}
