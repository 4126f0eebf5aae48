// Package bench measures what it costs an agent to find an entry by MCP: calls and tokens for each of some questions
// about real sessions. make bench-mcp runs it.
package bench
