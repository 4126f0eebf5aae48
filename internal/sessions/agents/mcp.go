package agents

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"

	"tape/internal/sessions/importer/record"
)

// server is the name of our MCP server in an agent's settings, and of the program in PATH.
const server = "tape"

func (d *document) addMCP(a *record.Agent, program string) error {
	member, value := a.MCP(program)
	if d.get(member, server) != nil {
		return nil // it may have been changed on purpose
	}
	in := d.get(member)
	if in == nil {
		if err := d.add(&d.root, member, struct{}{}); err != nil {
			return err
		}
		in = d.get(member)
	}
	if _, ok := in.Value.(*hujson.Object); !ok {
		return fmt.Errorf("%q is not an object", member)
	}
	return d.add(in, server, value)
}

func (d *document) removeMCP(a *record.Agent) error {
	member, _ := a.MCP("")
	if v := d.get(member, server); v == nil || !bytes.Contains(data(v), []byte(`"mcp"`)) {
		return nil
	}
	return d.removeMember(member, server)
}

const (
	tomlBegin = "# Begin of what tape has written."
	tomlEnd   = "# End of what tape has written."
)

// addTOML adds the server at the end of a file of TOML, between two marks.
func addTOML(a *record.Agent, raw []byte, program string) ([]byte, error) {
	known, err := readTOML(raw)
	if err != nil {
		return nil, fmt.Errorf("it is not TOML: %w", err)
	}
	member, _ := a.MCP(program)
	if record.Setting(known, member, server) != nil {
		return raw, nil
	}
	nl := (&document{raw: raw}).newline()
	block := []string{"", tomlBegin, "[" + member + "." + server + "]", "command = " + tomlQuote(program), `args = ["mcp"]`, tomlEnd, ""}
	out := bytes.Clone(raw)
	if len(raw) > 0 && raw[len(raw)-1] != '\n' {
		out = append(out, nl...)
	}
	if len(raw) == 0 {
		block = block[1:]
	}
	out = append(out, strings.Join(block, nl)...)
	if _, err := readTOML(out); err != nil {
		return nil, fmt.Errorf("the MCP server cannot be added at the end of the file: %w", err)
	}
	return out, nil
}

func readTOML(raw []byte) (settings map[string]any, err error) {
	err = toml.Unmarshal(bytes.TrimPrefix(raw, []byte(byteOrderMark)), &settings)
	return settings, err
}

func tomlQuote(s string) string {
	raw, _ := toml.Marshal(map[string]string{"x": s})
	return strings.TrimSpace(strings.TrimPrefix(string(raw), "x = "))
}

// removeTOML takes out what addTOML has added.
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
