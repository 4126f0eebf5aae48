// Package agentside has what commands do with the sessions of other agents: imports, transcripts that are recorded
// while they are written, how recording goes, the last handoff told to a new session, and going on with a session.
package agentside
