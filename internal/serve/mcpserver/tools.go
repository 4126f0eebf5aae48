package mcpserver

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tape/internal/sessions/filter"
)

// The schemas are written by hand: models read them with each request, so each word costs tokens.
const (
	propTape    = `"tape":{"type":"string","description":"name or its beginning"}`
	propProject = `"project":{"type":"string","description":"one of the user's other projects, by name"}`
	propCursor  = `"cursor":{"type":"string","description":"next_cursor of the page before"}`

	searchProps = `"query":{"type":"string","description":"a question or words: any count, rare ones most; \"a phrase\", -not, OR, prefix*: exactly"},` +
		`"tape":{"type":"string","description":"search this tape only"},"all_tapes":{"type":"boolean","default":true},` +
		`"limit":{"type":"integer","default":10,"maximum":30},` +
		`"include_current":{"type":"boolean","default":false,"description":"also the session that asks"},` + propProjects

	propProjects = `"project":{"type":"string","description":"one of the user's other projects, by name; *: all"}`

	listProps = `"tape":{"type":"string","description":"list the anchors of this tape"},"limit":{"type":"integer","default":20,"maximum":100},` +
		propProject + "," + propCursor

	readProps = propTape + `,"around":{"type":"string","description":"entry, as @17"},` +
		`"after_anchor":{"type":"string","description":"anchor name, 002 or latest"},"from":{"type":"string","description":"entry, as @17"},` +
		`"before":{"type":"integer","default":5,"description":"entries before around"},"after":{"type":"integer","default":5},` +
		`"limit":{"type":"integer","default":20,"maximum":100},` +
		`"max_chars":{"type":"integer","default":2000,"maximum":20000,"description":"of an entry"},` + propProject + "," + propCursor

	contextProps = propTape + `,"from":{"type":"string","description":"anchor, default the last"},` +
		`"max_tokens":{"type":"integer","default":8000,"maximum":20000},` + propProject

	propOnto = `"tape":{"type":"string","description":"whole name, default the current tape"}`
	propKey  = `"idempotency_key":{"type":"string","description":"done once for a key"}`

	appendProps = propOnto + `,"kind":{"type":"string","default":"message"},"role":{"type":"string","default":"assistant"},` +
		`"text":{"type":"string"},"payload":{"type":"object"},` + propKey
	handoffProps = propOnto + `,"name":{"type":"string"},"summary":{"type":"string"},` +
		`"state":{"type":"object","description":"what the next one starts from"},` + propKey
	forkProps = propOnto + `,"name":{"type":"string"},"at":{"type":"string","description":"anchor or @17, default the end"}`
	propFork  = `"fork":{"type":"string","description":"name, as TAPE/FORK"}`
)

// tools returns the tools that the server offers.
func (s *server) tools() []tool {
	scope, readScope := "", ""
	if s.TeamEntries != nil {
		readScope = `,"scope":{"type":"string","enum":["workspace","team"],"default":"workspace","description":"team: tape is REMOTE/TAPE"}`
	}
	if s.Team != nil {
		scope = `,"scope":{"type":"string","enum":["workspace","team"],"default":"workspace","description":"team: colleagues' sessions, too"}`
	}
	out := []tool{
		define("tape_search", "Search all recorded sessions, by a question or by words; a time goes into since and until. Gives the best sessions: title, what was asked, how it ended; date [tape] @id, excerpt of hits.", searchProps+scope+","+filter.Schema(filter.InJSON), "query", s.search),
		define("tape_list", "List sessions, newest first, or the anchors of one.", listProps, "", s.list),
		define("tape_read", "Show entries of a tape in full: around one, after an anchor, from one on; default the newest.", readProps+readScope+","+filter.Schema(filter.InJSON, "kinds"), "", s.read),
		define("tape_context", "The messages of a tape since its last anchor.", contextProps, "", s.context),
		define("tape_info", "Counts, last anchor and its state.", propTape+","+propProject, "", s.info),
	}
	for _, t := range out {
		t.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: new(false)}
	}
	if !s.Write {
		return out
	}
	write := []tool{
		define("tape_append", "Append an entry: text, or a payload of any kind.", appendProps, "", s.append),
		define("tape_handoff", "Write an anchor: close the phase with a summary and state.", handoffProps, "name", s.handoff),
		define("tape_fork", "Begin a fork of a tape, to try something.", forkProps, "name", s.fork),
		define("tape_merge", "Merge a fork into its tape and close it.", propFork, "fork", s.merge),
		define("tape_discard", "Drop a fork; git keeps it for a while.", propFork, "fork", s.discard),
	}
	for _, t := range write {
		t.Annotations = &mcp.ToolAnnotations{DestructiveHint: new(false), OpenWorldHint: new(false)}
	}
	write[len(write)-1].Annotations.DestructiveHint = new(true)
	return append(out, write...)
}
