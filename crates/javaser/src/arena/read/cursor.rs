//! The input: bounds-checked reads, handles, errors with their place.

use super::super::{Desc, Node, NodeId};
use super::Parser;
use crate::Error;
use crate::stream::BASE_HANDLE;

impl<'a> Parser<'a> {
    pub(super) fn add(&mut self, node: Node) -> Result<NodeId, Error> {
        let index = self.graph.nodes.len();
        match u32::try_from(index) {
            Ok(id) if index < self.limits.max_handles => {
                self.graph.nodes.push(node);
                Ok(NodeId(id))
            }
            _ => Err(Error::TooManyHandles {
                at: self.at(),
                max: self.limits.max_handles,
            }),
        }
    }

    pub(super) fn referred(&self, handle: u32) -> Option<NodeId> {
        let index = self
            .base
            .checked_add(handle.checked_sub(BASE_HANDLE)? as usize)?;
        (index < self.graph.nodes.len()).then(|| u32::try_from(index).ok().map(NodeId))?
    }

    pub(super) fn at(&self) -> usize {
        self.bytes.len() - self.rest.len()
    }

    pub(super) fn bad_code(&self, code: u8, expected: &'static str) -> Error {
        Error::BadTypeCode {
            at: self.at(),
            code,
            expected,
        }
    }

    pub(super) fn bad_desc(&self, id: NodeId, why: &'static str) -> Error {
        Error::BadDescriptor {
            at: self.at(),
            class: self.graph.desc(id).map_or("", Desc::name).to_owned(),
            why,
        }
    }

    pub(super) fn take(&mut self, len: u64) -> Result<&'a [u8], Error> {
        let split = usize::try_from(len)
            .ok()
            .and_then(|n| self.rest.split_at_checked(n));
        let Some((head, tail)) = split else {
            return Err(Error::Truncated {
                at: self.at(),
                needed: len - self.rest.len() as u64,
            });
        };
        self.rest = tail;
        Ok(head)
    }

    pub(super) fn fixed<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        match self.rest.split_first_chunk::<N>() {
            Some((head, tail)) => {
                self.rest = tail;
                Ok(*head)
            }
            None => Err(Error::Truncated {
                at: self.at(),
                needed: (N - self.rest.len()) as u64,
            }),
        }
    }

    pub(super) fn u8(&mut self) -> Result<u8, Error> {
        self.fixed().map(u8::from_be_bytes)
    }

    pub(super) fn u16(&mut self) -> Result<u16, Error> {
        self.fixed().map(u16::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Error> {
        self.fixed().map(u32::from_be_bytes)
    }

    pub(super) fn i32(&mut self) -> Result<i32, Error> {
        self.fixed().map(i32::from_be_bytes)
    }

    pub(super) fn i64(&mut self) -> Result<i64, Error> {
        self.fixed().map(i64::from_be_bytes)
    }
}
