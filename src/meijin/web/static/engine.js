/**
 * What the page needs from whatever plays the games: a server (`engine_server.js`) or the browser itself
 * (`engine_local.js`). The page knows a game only by its description, and what an engine can do by its features.
 *
 * @typedef {[number, number]} Point  x to the right, y down; neighbouring cells are about 1 apart
 * @typedef {number | number[] | string} Step  a cell, any cell of a set, or a word (a button)
 *
 * @typedef {object} Cell
 * @property {string} name
 * @property {Point[]} outline  1 point: a crossing; 2: a link; 3 or more: a polygon
 * @property {Point} centre
 * @property {number | null} tray  the seat whose pieces in hand it holds
 * @property {boolean} other  every second cell, as on a chessboard
 *
 * @typedef {{back: string, cell: string, line: string, ink: string, other: string | null, hole: string | null}} BoardTheme
 * @typedef {{text: string, at: Point, row: boolean}} Label
 *
 * @typedef {object} BoardInfo
 * @property {string} kind
 * @property {[number, number] | null} grid
 * @property {Cell[]} cells
 * @property {number[][]} neighbours
 * @property {Label[]} labels
 * @property {{seat: number, line: Point[]}[]} edges  sides drawn in a seat's colour
 * @property {[Point, Point][]} lines  between crossings
 * @property {Point[]} stars
 * @property {BoardTheme} theme
 * @property {[number, number, number, number]} box
 *
 * @typedef {object} PieceInfo
 * @property {string} text
 * @property {string} glyph
 * @property {string | null} fill
 * @property {string | null} ink
 * @property {number | null} owner
 * @property {string} shape  "disc", "tile", "man" or "die"
 *
 * @typedef {object} Parameter
 * @property {string} name
 * @property {string} kind  "int", "float", "bool", "str", "tuple" or ""
 * @property {any} default
 * @property {number | null} [low]
 * @property {number | null} [high]
 * @property {any[]} [choices]
 * @property {string} [help]
 * @property {any} [value]
 * @property {boolean} [needed]  it has no default
 *
 * @typedef {{name: string, path: Step[] | null}} MoveName
 *
 * @typedef {object} Description
 * @property {string} name
 * @property {string} id
 * @property {string} title
 * @property {string} help
 * @property {Parameter[]} parameters
 * @property {{name: string, colour: string | null}[]} seats
 * @property {boolean} chance
 * @property {[number | null, number | null]} score_range
 * @property {number} longest
 * @property {BoardInfo} board
 * @property {PieceInfo[]} pieces
 * @property {number[][] | null} alphabets
 * @property {MoveName[]} moves
 * @property {MoveName[]} outcomes
 * @property {Record<string, string>} words
 * @property {string[]} tallies
 * @property {string[]} endings
 * @property {boolean} setup
 * @property {string[]} refusals
 *
 * @typedef {{name: string, title: string, summary: string, seats: number, seat_range?: [number, number] | null, chance: boolean, levels?: boolean, problem?: string | null}} GameSummary  seat_range: the fewest and the most; levels: its champion has them
 *
 * @typedef {object} AgentInfo
 * @property {string} name
 * @property {string} summary
 * @property {Parameter[]} parameters
 * @property {string | null} unfit  why it cannot play the game; null when it can
 * @property {string} example  an expression that works, such as "mcts(seconds=1)"
 * @property {{name: string, about: string}} [level]  it is offered as a level of this name
 * @property {boolean} [levels]  it plays this game at levels from 1 to 10
 *
 * @typedef {{game: string, position?: string | null, moves: number[]}} At  a position, as the moves that lead to it
 *
 * @typedef {object} Look
 * @property {number[]} cells  [cell] -> piece
 * @property {number} turn  the seat to move, CHANCE or OVER
 * @property {number[]} legal  moves, or outcomes at a chance turn
 * @property {number[]} [odds]
 * @property {number[]} scores
 * @property {Record<string, number[]>} tallies
 * @property {string} ending
 * @property {number[]} last  the cells of the latest move of a seat and of what chance did after it
 *
 * @typedef {{seconds?: number | null, simulations?: number | null, depth?: number | null, nodes?: number | null}} Limit
 *
 * @typedef {object} MoveInfo
 * @property {number} move
 * @property {number | null} visits
 * @property {number | null} prior
 * @property {number[] | null} value  per seat
 * @property {boolean} proven
 * @property {number[]} pv
 *
 * @typedef {object} Analysis
 * @property {number} turn
 * @property {MoveInfo[]} moves  best first
 * @property {number[] | null} value  per seat
 * @property {boolean} proven
 * @property {number} simulations
 * @property {number} nodes
 * @property {number} depth
 * @property {number} seconds
 * @property {string} note
 * @property {string} advice
 * @property {boolean} [random]  its move was drawn by chance and is not the one it thinks best
 * @property {boolean} [final]
 * @property {number[][]} [planes]  what a net sees: [plane][cell]
 * @property {number[]} [ownership]  what it expects at the end: [cell], 1 seat 0 .. -1 seat 1
 * @property {number} [score]
 *
 * @typedef {{agent: string, limit?: Limit, every?: number}} Question
 * @typedef {AsyncIterable<Analysis> & {stop(): void}} Stream
 *
 * @typedef {object} SeatInfo
 * @property {"person" | "agent"} kind
 * @property {string} [name]
 * @property {string | null} [agent]
 * @property {Limit | null} [limit]
 *
 * @typedef {{seconds: number, increment: number}} ClockSettings
 * @typedef {{left: number[], increment: number, active: number | null, at: number}} Clocks  seconds left at a time in milliseconds
 * @typedef {{scores: number[], ending: string, seat: number | null, reason: string}} Result  ending: "rules", "resign", "time" or "forfeit"
 *
 * @typedef {object} TableState
 * @property {string} id
 * @property {string} game
 * @property {string | null} position  where it begins; null: the game's start
 * @property {number[]} moves  chance outcomes included
 * @property {number[]} movers  [ply] -> seat, CHANCE for chance
 * @property {number[]} redo  moves taken back; the first is the next to be played again
 * @property {Look} look
 * @property {SeatInfo[]} seats
 * @property {Clocks | null} clocks
 * @property {Result | null} result
 * @property {boolean} running  agents move by themselves
 * @property {number} speed  least seconds between two moves of agents
 * @property {number | null} thinking  the seat whose agent thinks
 * @property {string | null} [problem]  why an agent stopped
 * @property {(number[] | null)[]} values  [ply] -> what the agent that moved expected, per seat
 * @property {number[]} [random]  the plies that an agent drew by chance
 * @property {number} [people]  how many pages look at it
 * @property {number[]} you  the seats this page may play
 * @property {boolean} host  whether this page may do everything
 * @property {{host: string, watch: string, seats: string[]} | null} [keys]  of the links, for the host
 *
 * @typedef {object} TableOptions
 * @property {string} game
 * @property {string | null} [position]
 * @property {number[]} [moves]
 * @property {SeatInfo[]} seats
 * @property {ClockSettings | null} [clock]
 * @property {boolean} [running]
 * @property {number} [speed]
 *
 * @typedef {{parent: number, move: number, comment?: string, marks?: string}} NoteNode  parent: its place in the list, -1 for the start
 * @typedef {{comment: string, nodes: NoteNode[]}} Notes  variations and comments, kept with a table
 *
 * @typedef {object} Table  an EventTarget: "change" after every ply and every other change of `state`; "thinking"
 *   (detail {seat, analysis}) while a seat's agent thinks; "trouble" (detail: a sentence, or "" when it is over)
 * @property {string} id
 * @property {string | undefined} key
 * @property {TableState} state
 * @property {(move: number) => Promise<void>} play
 * @property {() => Promise<void>} undo  back to the latest choice of a person
 * @property {() => Promise<void>} redo
 * @property {(plies: number) => Promise<void>} back  take back so many plies
 * @property {(seat: number) => Promise<void>} resign
 * @property {(seat: number, who: SeatInfo) => Promise<void>} seat  change who sits there
 * @property {(change: {running?: boolean, speed?: number, step?: boolean}) => Promise<void>} run  pause, resume, one move of an agent
 * @property {() => Promise<Notes>} notes
 * @property {(notes: Notes) => Promise<void>} keep
 * @property {() => void} close  stop listening; the table lives on
 * @property {(type: string, listener: (event: any) => void) => void} addEventListener
 * @property {(type: string, listener: (event: any) => void) => void} removeEventListener
 *
 * @typedef {object} TableSummary
 * @property {string} id
 * @property {string} game
 * @property {string} title
 * @property {SeatInfo[]} seats
 * @property {number} plies
 * @property {number} turn
 * @property {Result | null} result
 * @property {number} updated  milliseconds since 1970
 * @property {string} [key]
 *
 * @typedef {object} Tables
 * @property {(options: TableOptions) => Promise<Table>} create
 * @property {(id: string, key?: string) => Promise<Table>} open
 * @property {() => Promise<TableSummary[]>} list
 * @property {(id: string, key?: string) => Promise<void>} remove
 *
 * @typedef {object} RecordText
 * @property {string} game
 * @property {string | null} position
 * @property {number[]} moves
 * @property {string[]} [names]  who sat where
 * @property {Record<string, string>} [comments]  number of moves played -> comment
 * @property {string} [result]
 *
 * @typedef {object} Features
 * @property {boolean} tables
 * @property {boolean} links  tables can be shared with other people
 * @property {string[]} records  formats of game records
 * @property {boolean} [arena]
 * @property {boolean} [training]  training runs are shown
 * @property {boolean} [train]  they can be started, stopped and resumed
 * @property {boolean} [nets]  nets can be trained, not only tables
 * @property {boolean} [designer]
 * @property {boolean} [modules]  games come as WebAssembly too, for the page's own engine
 * @property {string[]} [pictures]  formats of pictures, "gif" among them where a game can be one
 * @property {string} [access]  "full" or "guest"
 * @property {Record<string, number>} [limits]
 *
 * @typedef {object} Engine
 * @property {Features} features
 * @property {() => Promise<GameSummary[]>} games
 * @property {(game: string) => Promise<Description>} describe
 * @property {(game: string) => Promise<AgentInfo[]>} agents
 * @property {(at: At) => Promise<Look>} look
 * @property {(at: At) => Promise<Look[]>} looks  every position of the line, the start first
 * @property {(game: string, cells: number[], turn: number) => Promise<{position: string}>} setup
 * @property {(at: At, question: Question) => Stream} analyse
 * @property {(at: At & {names?: string[], comments?: Record<string, string>}, format: string) => Promise<string>} record
 * @property {(text: string, game?: string) => Promise<RecordText[]>} read
 * @property {() => Promise<Record<string, number[]>>} [samples]  a line for each game's picture; without it, samples.json has them
 * @property {(at: At, format: string) => Promise<Blob>} [picture]  the game as a moving picture
 * @property {Tables} tables
 * @property {Server} [server]  for pages that need one: arena, training, designer
 *
 * @typedef {object} Server
 * @property {(path: string, body?: any, method?: string) => Promise<any>} ask
 * @property {(message: any, hear: (reply: any) => void) => () => void} follow  returns what ends it
 */

export const CHANCE = -1;
export const OVER = -2;

/** What went wrong, in words for people. */
export class EngineError extends Error {
  /**
   * @param {string} message
   * @param {string} [code] "illegal", "bad", "unknown", "closed", "refused", "busy" or "limit"
   */
  constructor(message, code = "bad") {
    super(message);
    this.name = "EngineError";
    this.code = code;
  }
}
