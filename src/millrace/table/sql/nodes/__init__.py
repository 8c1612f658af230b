"""Trees of queries and expressions: frozen nodes. Each module has a family of them."""

from millrace.table.sql.nodes.base import Node as Node
from millrace.table.sql.nodes.calls import (
    Call as Call,
)
from millrace.table.sql.nodes.calls import (
    Descriptor as Descriptor,
)
from millrace.table.sql.nodes.calls import (
    Distinct as Distinct,
)
from millrace.table.sql.nodes.calls import (
    Filter as Filter,
)
from millrace.table.sql.nodes.calls import (
    Final as Final,
)
from millrace.table.sql.nodes.calls import (
    IgnoreNulls as IgnoreNulls,
)
from millrace.table.sql.nodes.calls import (
    Kwarg as Kwarg,
)
from millrace.table.sql.nodes.calls import (
    ModelArgument as ModelArgument,
)
from millrace.table.sql.nodes.calls import (
    RespectNulls as RespectNulls,
)
from millrace.table.sql.nodes.calls import (
    Running as Running,
)
from millrace.table.sql.nodes.calls import (
    TableArgument as TableArgument,
)
from millrace.table.sql.nodes.calls import (
    Window as Window,
)
from millrace.table.sql.nodes.calls import (
    WindowSpec as WindowSpec,
)
from millrace.table.sql.nodes.calls import (
    WithinGroup as WithinGroup,
)
from millrace.table.sql.nodes.clauses import (
    Alias as Alias,
)
from millrace.table.sql.nodes.clauses import (
    Cube as Cube,
)
from millrace.table.sql.nodes.clauses import (
    Group as Group,
)
from millrace.table.sql.nodes.clauses import (
    GroupingSets as GroupingSets,
)
from millrace.table.sql.nodes.clauses import (
    Having as Having,
)
from millrace.table.sql.nodes.clauses import (
    Hint as Hint,
)
from millrace.table.sql.nodes.clauses import (
    HintCall as HintCall,
)
from millrace.table.sql.nodes.clauses import (
    Limit as Limit,
)
from millrace.table.sql.nodes.clauses import (
    Offset as Offset,
)
from millrace.table.sql.nodes.clauses import (
    Order as Order,
)
from millrace.table.sql.nodes.clauses import (
    Ordered as Ordered,
)
from millrace.table.sql.nodes.clauses import (
    PropertyEQ as PropertyEQ,
)
from millrace.table.sql.nodes.clauses import (
    Qualify as Qualify,
)
from millrace.table.sql.nodes.clauses import (
    Rollup as Rollup,
)
from millrace.table.sql.nodes.clauses import (
    TableAlias as TableAlias,
)
from millrace.table.sql.nodes.clauses import (
    Where as Where,
)
from millrace.table.sql.nodes.json import (
    JsonArray as JsonArray,
)
from millrace.table.sql.nodes.json import (
    JsonArrayAgg as JsonArrayAgg,
)
from millrace.table.sql.nodes.json import (
    JsonEntry as JsonEntry,
)
from millrace.table.sql.nodes.json import (
    JsonExists as JsonExists,
)
from millrace.table.sql.nodes.json import (
    JsonObject as JsonObject,
)
from millrace.table.sql.nodes.json import (
    JsonObjectAgg as JsonObjectAgg,
)
from millrace.table.sql.nodes.json import (
    JsonQuery as JsonQuery,
)
from millrace.table.sql.nodes.json import (
    JsonValue as JsonValue,
)
from millrace.table.sql.nodes.literals import (
    Boolean as Boolean,
)
from millrace.table.sql.nodes.literals import (
    HexString as HexString,
)
from millrace.table.sql.nodes.literals import (
    IntervalLiteral as IntervalLiteral,
)
from millrace.table.sql.nodes.literals import (
    Literal as Literal,
)
from millrace.table.sql.nodes.literals import (
    Null as Null,
)
from millrace.table.sql.nodes.literals import (
    TypedLiteral as TypedLiteral,
)
from millrace.table.sql.nodes.literals import (
    TypeName as TypeName,
)
from millrace.table.sql.nodes.names import (
    Column as Column,
)
from millrace.table.sql.nodes.names import (
    Dot as Dot,
)
from millrace.table.sql.nodes.names import (
    Identifier as Identifier,
)
from millrace.table.sql.nodes.names import (
    Star as Star,
)
from millrace.table.sql.nodes.names import (
    Var as Var,
)
from millrace.table.sql.nodes.operators import (
    EQ as EQ,
)
from millrace.table.sql.nodes.operators import (
    GT as GT,
)
from millrace.table.sql.nodes.operators import (
    GTE as GTE,
)
from millrace.table.sql.nodes.operators import (
    LT as LT,
)
from millrace.table.sql.nodes.operators import (
    LTE as LTE,
)
from millrace.table.sql.nodes.operators import (
    NEQ as NEQ,
)
from millrace.table.sql.nodes.operators import (
    Add as Add,
)
from millrace.table.sql.nodes.operators import (
    All as All,
)
from millrace.table.sql.nodes.operators import (
    And as And,
)
from millrace.table.sql.nodes.operators import (
    Any as Any,
)
from millrace.table.sql.nodes.operators import (
    Array as Array,
)
from millrace.table.sql.nodes.operators import (
    Between as Between,
)
from millrace.table.sql.nodes.operators import (
    Binary as Binary,
)
from millrace.table.sql.nodes.operators import (
    Bracket as Bracket,
)
from millrace.table.sql.nodes.operators import (
    Case as Case,
)
from millrace.table.sql.nodes.operators import (
    Cast as Cast,
)
from millrace.table.sql.nodes.operators import (
    Div as Div,
)
from millrace.table.sql.nodes.operators import (
    DPipe as DPipe,
)
from millrace.table.sql.nodes.operators import (
    Escape as Escape,
)
from millrace.table.sql.nodes.operators import (
    Exists as Exists,
)
from millrace.table.sql.nodes.operators import (
    If as If,
)
from millrace.table.sql.nodes.operators import (
    In as In,
)
from millrace.table.sql.nodes.operators import (
    Is as Is,
)
from millrace.table.sql.nodes.operators import (
    IsJson as IsJson,
)
from millrace.table.sql.nodes.operators import (
    Like as Like,
)
from millrace.table.sql.nodes.operators import (
    MapConstructor as MapConstructor,
)
from millrace.table.sql.nodes.operators import (
    Mod as Mod,
)
from millrace.table.sql.nodes.operators import (
    Mul as Mul,
)
from millrace.table.sql.nodes.operators import (
    Neg as Neg,
)
from millrace.table.sql.nodes.operators import (
    Not as Not,
)
from millrace.table.sql.nodes.operators import (
    NullSafeEQ as NullSafeEQ,
)
from millrace.table.sql.nodes.operators import (
    NullSafeNEQ as NullSafeNEQ,
)
from millrace.table.sql.nodes.operators import (
    Or as Or,
)
from millrace.table.sql.nodes.operators import (
    Paren as Paren,
)
from millrace.table.sql.nodes.operators import (
    SimilarTo as SimilarTo,
)
from millrace.table.sql.nodes.operators import (
    Sub as Sub,
)
from millrace.table.sql.nodes.operators import (
    TryCast as TryCast,
)
from millrace.table.sql.nodes.operators import (
    Tuple as Tuple,
)
from millrace.table.sql.nodes.patterns import (
    AfterMatch as AfterMatch,
)
from millrace.table.sql.nodes.patterns import (
    MatchRecognize as MatchRecognize,
)
from millrace.table.sql.nodes.patterns import (
    PatternAlternation as PatternAlternation,
)
from millrace.table.sql.nodes.patterns import (
    PatternExclusion as PatternExclusion,
)
from millrace.table.sql.nodes.patterns import (
    PatternPermutation as PatternPermutation,
)
from millrace.table.sql.nodes.patterns import (
    PatternQuantifier as PatternQuantifier,
)
from millrace.table.sql.nodes.patterns import (
    PatternSequence as PatternSequence,
)
from millrace.table.sql.nodes.patterns import (
    PatternVariable as PatternVariable,
)
from millrace.table.sql.nodes.queries import (
    CTE as CTE,
)
from millrace.table.sql.nodes.queries import (
    Except as Except,
)
from millrace.table.sql.nodes.queries import (
    From as From,
)
from millrace.table.sql.nodes.queries import (
    Intersect as Intersect,
)
from millrace.table.sql.nodes.queries import (
    Query as Query,
)
from millrace.table.sql.nodes.queries import (
    Select as Select,
)
from millrace.table.sql.nodes.queries import (
    SetOperation as SetOperation,
)
from millrace.table.sql.nodes.queries import (
    Subquery as Subquery,
)
from millrace.table.sql.nodes.queries import (
    Union as Union,
)
from millrace.table.sql.nodes.queries import (
    Values as Values,
)
from millrace.table.sql.nodes.queries import (
    With as With,
)
from millrace.table.sql.nodes.reading import (
    call_path as call_path,
)
from millrace.table.sql.nodes.reading import (
    column_parts as column_parts,
)
from millrace.table.sql.nodes.reading import (
    hint_names as hint_names,
)
from millrace.table.sql.nodes.reading import (
    hint_options as hint_options,
)
from millrace.table.sql.nodes.reading import (
    table_path as table_path,
)
from millrace.table.sql.nodes.relations import (
    Join as Join,
)
from millrace.table.sql.nodes.relations import (
    Joined as Joined,
)
from millrace.table.sql.nodes.relations import (
    Lateral as Lateral,
)
from millrace.table.sql.nodes.relations import (
    Table as Table,
)
from millrace.table.sql.nodes.relations import (
    TableFunction as TableFunction,
)
from millrace.table.sql.nodes.relations import (
    Unnest as Unnest,
)
from millrace.table.sql.nodes.relations import (
    Version as Version,
)
