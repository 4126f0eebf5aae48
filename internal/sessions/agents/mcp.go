package agents

import (
	"bytes"

	"tape/internal/sessions/importer/record"
)

// server is the name of our MCP server in an agent's settings, and of the program in PATH.
const server = "tape"

func (d *document) addMCP(a *record.Agent, program string) error {
	member, value := a.MCP(program)
	if d.get(member, server) != nil {
		return nil // it may have been changed on purpose
	}
	in, err := d.object(member)
	if err != nil {
		return err
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
