//! Joins.

use catalyst::{BuildSide, EquiJoin, Expr, JoinType, Operator, OperatorKind};

use super::{Facts, column_of, worse};

impl Facts {
    /// Of an operator that joins.
    pub(super) fn of_join(kind: &OperatorKind) -> Self {
        match kind {
            OperatorKind::BroadcastHashJoin {
                join,
                build_side,
                streamed,
                ..
            } => {
                let mut facts = Self::of(streamed).all_rows();
                facts.decided_by_join(join);
                let keeps = !matches!(
                    (&join.join_type, build_side),
                    (JoinType::FullOuter, _)
                        | (JoinType::LeftOuter, BuildSide::Left)
                        | (JoinType::RightOuter, BuildSide::Right)
                );
                if !keeps {
                    facts.sorted.clear();
                }
                facts.ordered &= matches!(
                    join.join_type,
                    JoinType::LeftSemi | JoinType::LeftAnti | JoinType::Existence(_)
                );
                facts
            }
            OperatorKind::BroadcastNestedLoopJoin {
                condition,
                streamed,
                ..
            } => {
                let mut facts = Self::of(streamed).all_rows();
                if let Some(condition) = condition {
                    facts.decided_by(condition);
                }
                facts.sorted.clear();
                facts.ordered = false;
                facts
            }
            OperatorKind::ShuffledHashJoin {
                join, left, right, ..
            } => Self::joined(join, left, right),
            OperatorKind::SortMergeJoin { join, left, right } => {
                let mut facts = Self::joined(join, left, right);
                let keys: &[Expr] = match join.join_type {
                    JoinType::FullOuter => &[],
                    JoinType::RightOuter => &join.right_keys,
                    _ => &join.left_keys,
                };
                facts.sorted = keys.iter().map_while(column_of).collect();
                facts
            }
            OperatorKind::CartesianProduct {
                condition,
                left,
                right,
            } => {
                let mut facts = Self::of(left).all_rows();
                let right = Self::of(right).all_rows();
                facts.rows = worse(facts.rows, right.rows);
                facts.loose.extend(right.loose);
                if let Some(condition) = condition {
                    facts.decided_by(condition);
                }
                facts.sorted.clear();
                facts.ordered = false;
                facts
            }
            _ => Self::leaf(false),
        }
    }

    fn decided_by_join(&mut self, join: &EquiJoin) {
        for expr in join.left_keys.iter().chain(&join.right_keys) {
            self.decided_by(expr);
        }
        if let Some(condition) = &join.condition {
            self.decided_by(condition);
        }
    }

    fn joined(join: &EquiJoin, left: &Operator, right: &Operator) -> Self {
        let mut facts = Self::of(left).all_rows();
        let right = Self::of(right).all_rows();
        facts.rows = worse(facts.rows, right.rows);
        facts.loose.extend(right.loose);
        facts.decided_by_join(join);
        facts.sorted.clear();
        facts.ordered = false;
        facts
    }
}
