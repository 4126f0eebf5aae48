package agents

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"tape/internal/sessions/importer/record"
)

const (
	tomlBegin = "# Begin of what tape has written."
	tomlEnd   = "# End of what tape has written."
)

// addTOML adds the MCP server at the end of a file of TOML.
func addTOML(a *record.Agent, raw []byte, program string) ([]byte, error) {
	known, err := readTOML(raw)
	if err != nil {
		return nil, fmt.Errorf("it is not TOML: %w", err)
	}
	member, _ := a.MCP(program)
	if record.Setting(known, member, server) != nil {
		return raw, nil
	}
	out, err := appendTOML(raw, "["+member+"."+server+"]", "command = "+tomlQuote(program), `args = ["mcp"]`)
	if err != nil && known[member] != nil {
		err = fmt.Errorf("its %s is one value; write it as tables [%[1]s.NAME], after which others can come", member)
	}
	return out, err
}

// appendTOML adds lines at the end of a file of TOML, between two marks.
func appendTOML(raw []byte, lines ...string) ([]byte, error) {
	nl := (&document{raw: raw}).newline()
	block := slices.Concat([]string{"", tomlBegin}, lines, []string{tomlEnd, ""})
	out := bytes.Clone(raw)
	if len(raw) > 0 && raw[len(raw)-1] != '\n' {
		out = append(out, nl...)
	}
	if len(raw) == 0 {
		block = block[1:]
	}
	out = append(out, strings.Join(block, nl)...)
	if _, err := readTOML(out); err != nil {
		return nil, fmt.Errorf("nothing can be added at the end of the file: %w", err)
	}
	return out, nil
}

func readTOML(raw []byte) (settings map[string]any, err error) {
	err = toml.Unmarshal(bytes.TrimPrefix(raw, []byte(byteOrderMark)), &settings)
	if at, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, _ := at.Position()
		err = fmt.Errorf("line %d: %w", line, err)
	}
	return settings, err
}

func tomlQuote(s string) string {
	raw, _ := toml.Marshal(map[string]string{"x": s})
	return strings.TrimSpace(strings.TrimPrefix(string(raw), "x = "))
}

// removeTOML takes out what appendTOML has added.
func removeTOML(raw []byte) []byte {
	before, rest, ok := bytes.Cut(raw, []byte(tomlBegin))
	_, after, ok2 := bytes.Cut(rest, []byte(tomlEnd))
	if !ok || !ok2 {
		return raw
	}
	after = bytes.TrimPrefix(bytes.TrimPrefix(after, []byte("\r")), []byte("\n"))
	for _, nl := range []string{"\r\n", "\n"} {
		if bytes.HasSuffix(before, []byte(nl+nl)) {
			before = bytes.TrimSuffix(before, []byte(nl))
			break
		}
	}
	return append(before[:len(before):len(before)], after...)
}

// hookTable begins a hook in a file of TOML, which has event, command and timeout.
const hookTable = "[[hooks]]"

// oursInTOML finds our hooks in a file of TOML.
func oursInTOML(f *record.Format, settings map[string]any) (ours []record.Hook) {
	list, _ := settings["hooks"].([]any)
	for i, entry := range list {
		m, _ := entry.(map[string]any)
		command, _ := m["command"].(string)
		if !strings.Contains(command, mark(f)) {
			continue
		}
		event, _ := m["event"].(string)
		timeout, _ := m["timeout"].(int64)
		ours = append(ours, record.Hook{Event: event, Group: i, Handler: record.Handler{Command: command, Timeout: int(timeout)}})
	}
	return ours
}

// addHooksTOML adds our hooks at the end of a file of TOML, instead of those that it has of an earlier installation.
func addHooksTOML(f *record.Format, raw []byte, o Options) ([]byte, error) {
	known, err := readTOML(raw)
	if err != nil {
		return nil, fmt.Errorf("it is not TOML: %w", err)
	}
	have := oursInTOML(f, known)
	current := len(have) == len(f.Events)
	var lines []string
	for _, event := range f.Events {
		text := command(f, event, o)
		current = current && slices.ContainsFunc(have, func(h record.Hook) bool {
			return h.Event == event.Name && h.Command == text && h.Timeout == event.Timeout
		})
		lines = append(lines, hookTable, "event = "+tomlQuote(event.Name), "command = "+tomlQuote(text), "timeout = "+strconv.Itoa(event.Timeout))
	}
	if current {
		return raw, nil
	}
	if raw, err = removeHooksTOML(f, raw); err != nil {
		return nil, err
	}
	if list, ok := known["hooks"].([]any); ok && len(list) == 0 {
		if raw, err = withoutNoHooks(raw, known); err != nil {
			return nil, err
		}
	}
	out, err := appendTOML(raw, lines...)
	if err != nil && known["hooks"] != nil {
		err = errors.New("its hooks are no tables " + hookTable + ", after which others could come")
	}
	return out, err
}

// withoutNoHooks takes an empty list of hooks, beside which there can be no tables, out of a file of TOML
// (Octane0411/open-vibe-island#498). Such a list may also be in another table, or in a text.
func withoutNoHooks(raw []byte, known map[string]any) ([]byte, error) {
	noHooks := regexp.MustCompile(`(?m)^[ \t]*hooks[ \t]*=[ \t]*\[\s*\][ \t]*\r?\n?`) // here, because most starts of tape need none
	out := raw
	if at := noHooks.FindIndex(raw); at != nil {
		out = slices.Concat(raw[:at[0]], raw[at[1]:])
	}
	left, err := readTOML(out)
	others := maps.Clone(known)
	delete(others, "hooks")
	if err != nil || len(left)+len(others) > 0 && !reflect.DeepEqual(left, others) {
		return nil, errors.New("take out by hand its empty list hooks, beside which there can be no tables " + hookTable)
	}
	return out, nil
}

// removeHooksTOML takes our hooks out of a file of TOML, also if the agent has written it again, without our marks
// (kunchenguid/firstmate#1064), or the file has several blocks of ours (vshulcz/deja-vu#1699).
func removeHooksTOML(f *record.Format, raw []byte) ([]byte, error) {
	known, err := readTOML(raw)
	if err != nil {
		return nil, fmt.Errorf("it is not TOML: %w", err)
	}
	if len(oursInTOML(f, known)) == 0 {
		return raw, nil
	}
	out := raw
	for marked := removeTOML(out); len(marked) < len(out); marked = removeTOML(out) {
		out = marked
	}
	out = withoutTables(f, out)
	left, err := readTOML(out)
	if list, ok := known["hooks"].([]any); ok {
		list = slices.DeleteFunc(list, func(entry any) bool {
			return len(oursInTOML(f, map[string]any{"hooks": []any{entry}})) > 0
		})
		if known["hooks"] = list; len(list) == 0 {
			delete(known, "hooks")
		}
	}
	if err != nil || len(left)+len(known) > 0 && !reflect.DeepEqual(left, known) {
		return nil, errors.New("take out by hand the hooks whose command has " + mark(f))
	}
	return out, nil
}

// withoutTables leaves out the tables of our hooks, with the empty lines after them.
func withoutTables(f *record.Format, raw []byte) []byte {
	var out, table []byte
	flush := func() {
		if !bytes.Contains(table, []byte(mark(f))) {
			out = append(out, table...)
		}
		table = nil
	}
	for line := range bytes.Lines(raw) {
		text := bytes.TrimSpace(line)
		switch {
		case bytes.HasPrefix(text, []byte(hookTable)):
			flush()
			table = append(table, line...)
		case table != nil && !bytes.HasPrefix(text, []byte("[")) && !bytes.HasPrefix(text, []byte("#")):
			table = append(table, line...)
		default:
			flush()
			out = append(out, line...)
		}
	}
	flush()
	return out
}
