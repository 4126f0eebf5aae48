package export

import (
	"context"
	"fmt"
	"strings"

	"tape/repo"
)

// renderer writes what people read, an entry or a block of entries at a time.
type renderer interface {
	// section begins that of a phase; none: it has no entries of the kinds that were asked for.
	section(ph repo.Phase, none bool)
	opening(anchor repo.Entry)
	message(*block)
	calls(*block) // of an entry that is nothing else
	orphans(*block)
	events(*block)
	failure(e repo.Entry)
}

// renderBlocks shows the blocks of a source to a renderer, each in the section of its phase.
func renderBlocks(ctx context.Context, w *output, src Source, r renderer) error {
	phases := src.selected()
	sections := func(seq int) { // up to the one of that number; 0 is the end
		for len(phases) > 0 && (seq == 0 || phases[0].Seq <= seq) {
			r.section(phases[0], phases[0].Seq != seq && len(src.Kinds) > 0)
			phases = phases[1:]
		}
	}
	err := eachBlock(ctx, src, func(b *block) error {
		switch b.kind {
		case blockPhase:
			sections(b.entry.AnchorSeq)
			if b.entry.Kind == repo.KindAnchor {
				r.opening(b.entry)
			}
		case blockMessage:
			r.message(b)
		case blockCalls:
			r.calls(b)
		case blockResults:
			r.orphans(b)
		case blockEvents:
			r.events(b)
		case blockError:
			r.failure(b.entry)
		}
		return w.err()
	})
	if err == nil {
		sections(0)
	}
	return err
}

// facts says what the whole export is, for the top of a page or document.
func facts(src Source) string {
	phases := src.selected()
	var entries int64
	for _, p := range phases {
		entries += p.Entries
	}
	out := []string{count(len(phases), "phase", "phases"), count(entries, "entry", "entries")}
	if len(phases) < len(src.Phases) {
		out[0] += fmt.Sprintf(" of %d", len(src.Phases))
	}
	if len(src.Kinds) > 0 {
		out = append(out, "only entries of kind "+line(strings.Join(src.Kinds, ", "), 200))
	}
	if len(phases) > 0 {
		date, _ := when(repo.Entry{Date: phases[0].Date})
		out = append(out, "from "+line(date, 40))
	}
	return strings.Join(append(out, "times are UTC"), " · ")
}

// phaseFacts says what is known of a phase beside its state.
func phaseFacts(ph repo.Phase) string {
	date, _ := when(repo.Entry{Date: ph.Date})
	out := []string{count(ph.Entries, "entry", "entries"), fmt.Sprintf("@%d to @%d", ph.FirstID, ph.LastID), line(date, 40)}
	if ph.Tag != "" {
		out = append(out, "tag "+line(ph.Tag, 200))
	}
	if len(ph.Commit) > 10 {
		out = append(out, "commit "+ph.Commit[:10])
	}
	return strings.Join(out, " · ")
}

// eventNames lists the names of events in the order they first come, with how many.
func eventNames(events []repo.Entry) string {
	var names []string
	times := map[string]int{}
	for _, e := range events {
		name := eventName(e)
		if times[name]++; times[name] == 1 {
			names = append(names, name)
		}
	}
	for i, name := range names {
		if n := times[name]; n > 1 {
			names[i] = fmt.Sprintf("%s ×%d", name, n)
		}
	}
	return strings.Join(names, ", ")
}
